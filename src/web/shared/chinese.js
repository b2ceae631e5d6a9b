// Translations into simplified Chinese, by the English text, sorted.
export const chinese = {
    Console: "控制台",
    Copied: "已复制",
    Copy: "复制",
    "Dark theme": "深色主题",
    Language: "语言",
    "Light theme": "浅色主题",
    "Media server": "流媒体服务器",
    "Not allowed by the browser": "浏览器不允许",
    Pages: "页面",
    Players: "播放器",
    "Selected: press Ctrl+C": "已选中：请按 Ctrl+C",
    "Skip to the content": "跳到正文",
};
