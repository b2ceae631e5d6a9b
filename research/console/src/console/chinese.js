export const consoleChinese = {};
