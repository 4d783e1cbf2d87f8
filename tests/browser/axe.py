"""Find accessibility violations in a part of a page with axe-core.

All rules are used except those of level AAA, deprecated and experimental rules, which axe leaves out by default, and
except the rule on contrast: `contrast.py` measures the contrast of every text, also where axe cannot. The rule of
WCAG 2.2 on the size of targets, which axe leaves out by default, is switched on.
"""

from __future__ import annotations

from playwright.sync_api import Page

from utils.lessons import ROOT

SCRIPT = ROOT / ".ci" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async ([selector, exclude]) => {
    const parts = [...document.querySelectorAll(selector)];
    if (!parts.length) return ['there is nothing at ' + selector];
    const {violations} = await axe.run({include: [[selector]], exclude: exclude.map(each => [each])}, {
        resultTypes: ['violations'], rules: {'target-size': {enabled: true}, 'color-contrast': {enabled: false}},
    });
    return violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id} (${rule.impact}): ${node.target.join(' ')}`
        + ` ${node.any.concat(node.all, node.none).map(check => check.message)[0]} in ${node.html.slice(0, 160)}`));
}"""


def violations(page: Page, selector: str, exclude: tuple[str, ...] = ()) -> list[str]:
    """Return one line for each violation of axe's rules in the elements of `selector`."""
    assert SCRIPT.is_file(), "axe-core is not installed: run  bash .ci/install-npm .venv/bin/python"
    if not page.evaluate("() => Boolean(window.axe)"):
        page.add_script_tag(content=SCRIPT.read_text(encoding="utf-8"))
    return page.evaluate(_RUN, [selector, list(exclude)])
