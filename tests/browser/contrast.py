"""Measure the contrast of rendered text, including text in pictures, which axe does not measure."""

from __future__ import annotations

from playwright.sync_api import Locator

LEAST = 4.5  # WCAG 2.2, level AA
# The script blends the layers under a point, from the bottom to the top. A layer above the text counts too if it is in
# the same part of the page; JupyterLab's toolbars are not. If a text has a halo (a stroke that is painted first), the
# halo is its background. Disabled controls are skipped, as in WCAG. Points of a text that a scrolling box hides are
# also skipped.
_FAINT = """(roots, least) => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const known = new Map();
    const rgba = colour => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = '#000';
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
            known.set(colour, [[r, g, b], a / 255]);
        }
        return known.get(colour);
    };
    const over = (under, colour, opacity) => {
        if (!colour || colour === 'none') return under;
        const [top, alpha] = rgba(colour);
        return under.map((x, i) => x + (top[i] - x) * alpha * opacity);
    };
    const light = rgb => rgb.map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => {
        const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
        return (bright + 0.05) / (dark + 0.05);
    };
    const looks = new Map();  // a cache: styles do not change meanwhile, and reading them is slow
    const look = element => {
        if (!looks.has(element)) {
            const {backgroundColor, fill, fillOpacity, stroke, strokeOpacity, opacity} = getComputedStyle(element);
            const behind = element.parentElement ? look(element.parentElement).opacity : 1;
            const own = {backgroundColor, fill, fillOpacity, stroke, strokeOpacity, opacity: behind * Number(opacity)};
            looks.set(element, own);
        }
        return looks.get(element);
    };
    const painted = (under, element, x, y) => {
        const style = look(element), {opacity} = style;
        if (!(element instanceof SVGGeometryElement)) return over(under, style.backgroundColor, opacity);
        const at = new DOMPoint(x, y).matrixTransform(element.getScreenCTM().inverse());
        if (element.isPointInFill(at)) under = over(under, style.fill, opacity * style.fillOpacity);
        if (element.isPointInStroke(at)) under = over(under, style.stroke, opacity * style.strokeOpacity);
        return under;
    };
    const measured = (root, element, colour, [x, y, stack]) => {
        const style = getComputedStyle(element);
        const halo = element instanceof SVGElement && style.paintOrder.startsWith('stroke') ? style.stroke : 'none';
        let under = [255, 255, 255], text = null;
        const write = () => {
            under = over(under, halo, 1);
            text = over(under, colour, look(element).opacity);
        };
        for (const each of stack) {
            if (text && (!root.contains(each) || element.contains(each))) break;
            if (!(each instanceof SVGTextContentElement)) {
                under = painted(under, each, x, y);
                if (text) text = painted(text, each, x, y);
            }
            if (each === element) write();
        }
        if (!text) write();
        return [ratio(text, under), text, under];
    };
    // The points of a text, each with the elements there from the bottom to the top. To find them is slow in a large
    // page, so a text outside a picture has two points in each line.
    const points = (element, rect) => (element instanceof SVGElement ? [0.1, 0.3, 0.5, 0.7, 0.9] : [0.1, 0.9])
        .map(share => [rect.left + share * rect.width, rect.top + rect.height / 2])
        .map(at => [...at, document.elementsFromPoint(...at).reverse()]);
    const faint = [];
    const measure = (root, element, colour, words, rects) => {
        const every = rects.flatMap(rect => points(element, rect));
        const shown = every.filter(([, , stack]) => stack.includes(element));  // the rest is cut off
        const all = (shown.length ? shown : every).map(at => measured(root, element, colour, at));
        const [worst, text, under] = all.reduce((a, b) => (a[0] <= b[0] ? a : b));
        const hex = rgb => '#' + rgb.map(x => Math.round(x).toString(16).padStart(2, '0')).join('');
        if (worst >= least) return;
        faint.push(`${worst.toFixed(2)}: "${words.trim().slice(0, 40)}" ${hex(text)} on ${hex(under)}`);
    };
    const seen = element =>
        element.checkVisibility({visibilityProperty: true})
        && !element.closest('.unseen, :disabled, mjx-assistive-mml');
    for (const root of roots) {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const element = node.parentElement, range = document.createRange();
            if (!node.data.trim() || element.closest('style, script, textarea, title') || !seen(element)) continue;
            element.scrollIntoView({block: 'nearest'});
            range.selectNodeContents(node);
            const rects = [...range.getClientRects()].filter(rect => rect.width > 1 && rect.height > 1);
            const colour = getComputedStyle(element)[element instanceof SVGElement ? 'fill' : 'color'];
            if (rects.length) measure(root, element, colour, node.data, rects);
        }
        for (const box of root.querySelectorAll('input[type=text], textarea')) {
            if (!seen(box) || !(box.value || box.placeholder)) continue;
            box.scrollIntoView({block: 'nearest'});
            const style = getComputedStyle(box, box.value ? null : '::placeholder');
            measure(root, box, style.color, box.value || box.placeholder, [box.getBoundingClientRect()]);
        }
    }
    return faint;
}"""


def faint(parts: Locator, least: float = LEAST) -> list[str]:
    """Return one line for each text in `parts` with a contrast below `least`: the contrast, the text, the colours."""
    return parts.evaluate_all(_FAINT, least)
