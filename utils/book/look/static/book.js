/* The wrong answers of the first page, the commands that a click copies, and what a keyboard and paper need. */
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".wrong-answers")) {
    const panels = [...box.querySelectorAll(".wrong-answer")];
    const choose = () => {
      const chosen = box.querySelector("input:checked").value;
      for (const panel of panels) panel.hidden = panel.dataset.answer !== chosen;
    };
    box.addEventListener("change", choose);
    box.dataset.live = "";
    choose();
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    const said = button.parentElement.querySelector("[role=status]");
    button.hidden = false;
    button.addEventListener("click", () => {
      copied(button.dataset.copy).then(
        () => { said.textContent = "Copied. Paste into a terminal."; },
        () => { said.textContent = "This browser lets no page copy: mark the lines below."; },
      );
    });
  }

  // The theme's button says "Search Ctrl+K" and is called "Search": who says what they see would not reach it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");

  // Paper is white, whatever the screen is.
  const { dataset } = document.documentElement;
  let onScreen;
  addEventListener("beforeprint", () => { onScreen = dataset.theme; dataset.theme = "light"; });
  addEventListener("afterprint", () => { dataset.theme = onScreen; });

  // What is wider than the page scrolls, by the keyboard too.
  const widths = new ResizeObserver((boxes) => {
    for (const { target } of boxes) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll("article [style*='overflow-x'], .cell_output, .cell_output .output"))
    widths.observe(box);

  async function copied(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not allowed");
    return undefined;
  }
});
