// Translations into simplified Chinese, by the English text, sorted.
export const chinese = {
    Console: "控制台",
    "Dark theme": "深色主题",
    Language: "语言",
    "Light theme": "浅色主题",
    "Media server": "流媒体服务器",
    Pages: "页面",
    Players: "播放器",
};
