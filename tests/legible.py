"""The contrast of what a page in a browser shows (WCAG 2.2, 1.4.3)."""

from typing import Any

LEGIBLE = 4.5
"""The least contrast of a text with what is behind it."""
CONTRASTS = """([selector, part]) => {
    const colours = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = (colour) => colour.slice(0, 3).map((part) => part / 255)
        .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = (element) => {
        const colour = colours(getComputedStyle(element).backgroundColor);
        return colour[3] === 0 ? behind(element.parentElement) : colour;
    };
    const contrast = (element) => {
        const style = getComputedStyle(element, part), back = behind(element);
        let [colour, alpha] = [colours(style.color), Number(style.opacity)];
        for (let one = element; one; one = one.parentElement) alpha *= Number(getComputedStyle(one).opacity);
        if (colour.length === 4) alpha *= colour[3];
        colour = colour.slice(0, 3).map((part, place) => part * alpha + back[place] * (1 - alpha));
        const [less, more] = [light(colour), light(back)].sort((a, b) => a - b);
        return (more + 0.05) / (less + 0.05);
    };
    return [...document.querySelectorAll(selector)].filter((one) => one.offsetParent).map(contrast);
}"""


async def contrasts(page: Any, selector: str, part: str | None = None) -> list[float]:
    """The contrast of each visible element, or of a part of it such as `::placeholder`."""
    found: list[float] = await page.evaluate(CONTRASTS, [selector, part])
    return found


async def set_theme(page: Any, theme: str) -> None:
    """Choose Label Studio's light or dark colours."""
    await page.evaluate("(theme) => document.documentElement.setAttribute('data-color-scheme', theme)", theme)
    await page.wait_for_timeout(500)  # colours fade
