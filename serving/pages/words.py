"""What the pages say, in English and in Simplified Chinese: one entry a text, both side by side."""

from __future__ import annotations

from typing import Literal, get_args

from .words_drift import DRIFT
from .words_training import TRAINING

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
Texts = dict[str, tuple[str, str]]

COMMON: Texts = {
    "skip": ("Skip to the content", "跳到正文"),
    "nav": ("Pages", "页面"),
    "drift": ("Drift", "漂移"),
    "training": ("Training", "训练"),
    "language": ("中文", "English"),
    "theme": ("Colours: {}", "配色:{}"),
    "theme_auto": ("as the system", "跟随系统"),
    "theme_light": ("light", "浅色"),
    "theme_dark": ("dark", "深色"),
    "sign_in": ("Sign in", "登录"),
    "sign_out": ("Sign out", "退出登录"),
    "token": ("Access token", "访问令牌"),
    "token_hint": (
        "The token this service was started with. Whoever runs it can tell you.",
        "启动本服务时设置的令牌,可向服务的维护者索取。",
    ),
    "token_wrong": ("This is not the token. Try again.", "令牌不正确,请重试。"),
    "noscript": (
        "This page draws its figures with JavaScript. Without it, ask {} for the same as JSON.",
        "本页用 JavaScript 绘图。若已禁用,可访问 {} 获取相同内容的 JSON。",
    ),
    "connecting": ("Connecting", "连接中"),
    "live": ("Live", "实时"),
    "polling": ("Asking every {} s", "每 {} 秒查询一次"),
    "reconnecting": ("Reconnecting", "重新连接中"),
    "offline": (
        "The service does not answer. What you see is as of {}; the page goes on by itself once "
        "it is back.",
        "服务没有响应。当前显示的是 {} 的数据;恢复后页面会自动更新。",
    ),
    "store_away": (
        "The store cannot be reached: {}. Nothing is lost, counts wait; what you see may be old.",
        "无法访问存储:{}。数据不会丢失,计数将等待写入;当前显示可能不是最新。",
    ),
    "failed": ("Something on this page failed: {}", "页面出错:{}"),
    "loading": ("Loading…", "加载中…"),
    "never": ("never", "从未"),
    "ago": ("{} ago", "{}前"),
    "none": ("none", "无"),
    "unknown": ("not known", "未知"),
    "of": ("{} of {}", "{} / {}"),
    "close": ("Close", "关闭"),
    "show_all": ("Show all", "显示全部"),
    "day": ("d", "天"),
    "hour": ("h", "小时"),
    "minute": ("min", "分"),
    "second": ("s", "秒"),
    "severity_minor": ("minor", "轻微"),
    "severity_moderate": ("moderate", "中等"),
    "severity_major": ("major", "严重"),
    "severity_info": ("note", "提示"),
    "severity_warning": ("warning", "警告"),
    "severity_critical": ("critical", "严重"),
    "severity_error": ("error", "错误"),
}

PAGES: dict[str, Texts] = {
    "sign_in": COMMON,
    "training": COMMON | TRAINING,
    "drift": COMMON | DRIFT,
}


def words(page: str, language: Language) -> dict[str, str]:
    """Every text of a page by its key, in one language."""
    at = LANGUAGES.index(language)
    return {key: texts[at] for key, texts in PAGES[page].items()}
