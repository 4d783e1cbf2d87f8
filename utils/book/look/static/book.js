/* The wrong answers of the first page, the commands that a click copies, and what fingers, a keyboard and paper need. */
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // no file may read another one
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

  // What the search shows of a page is from its text; the list of its headings stands before that.
  if (typeof Search !== "undefined") {
    const { htmlToText } = Search;
    Search.htmlToText = (html, anchor) => htmlToText(html.replace(/^[^]*?<article/, '<article role="main"'), anchor);
  }

  // The theme's button says "Search Ctrl+K" and is called "Search": who says what they see would not reach it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");

  // Paper is white, whatever the screen is.
  const { dataset } = document.documentElement;
  let onScreen;
  addEventListener("beforeprint", () => { onScreen = dataset.theme; dataset.theme = "light"; });
  addEventListener("afterprint", () => { dataset.theme = onScreen; });

  // What is wider than the page scrolls, by the keyboard too, and fades at the edges behind which there is more.
  const cut = (box) => {
    const hidden = box.scrollWidth - box.clientWidth;
    if (hidden > 0) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    box.classList.toggle("more-left", hidden > 0 && box.scrollLeft > 4);
    box.classList.toggle("more-right", hidden - box.scrollLeft > 4);
  };
  const widths = new ResizeObserver((boxes) => boxes.forEach(({ target }) => cut(target)));
  const wide = "article [style*='overflow-x'], .cell_output, .cell_output .output, article pre, .pst-scrollable-table-container";
  for (const box of document.querySelectorAll(wide)) {
    widths.observe(box);
    box.addEventListener("scroll", () => cut(box), { passive: true });
  }

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
