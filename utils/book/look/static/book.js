/* Scripts for the wrong answers on the first page, the button that copies commands, search, scrolling and print. */
// A page that is opened from a file must not read other files.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
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
    const status = button.parentElement.querySelector("[role=status]");
    button.hidden = false;
    button.addEventListener("click", () => {
      copied(button.dataset.copy).then(
        () => { status.textContent = "Copied. Paste the commands into a terminal."; },
        () => { status.textContent = "This browser does not let pages copy. Select and copy the lines below."; },
      );
    });
  }

  // Search results should quote the article, not the list of headings that comes before it in the page.
  if (typeof Search !== "undefined") {
    const { htmlToText } = Search;
    Search.htmlToText = (html, anchor) => htmlToText(html.replace(/^[^]*?<article/, '<article role="main"'), anchor);
  }

  // The theme's button shows "Search Ctrl+K", but its accessible name is "Search". Voice control could not find it by its
  // visible text.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");

  // The theme's sidebar has no role, so a screen reader could not jump to the title of the book.
  const sidebar = document.querySelector("#pst-primary-sidebar");
  sidebar?.setAttribute("role", "region");
  sidebar?.setAttribute("aria-label", "Contents of the book");

  // Print in the light theme, because paper is white.
  const { dataset } = document.documentElement;
  let onScreen;
  addEventListener("beforeprint", () => { onScreen = dataset.theme; dataset.theme = "light"; });
  addEventListener("afterprint", () => { dataset.theme = onScreen; });

  // Elements wider than the page scroll, also by keyboard, and fade at each edge behind which there is more.
  const cut = (box) => {
    const hidden = box.scrollWidth - box.clientWidth;
    if (hidden > 0) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    // A Tab stop needs a name. A table that scrolls keeps its own role.
    if (hidden > 0 && !box.hasAttribute("role")) {
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", box.matches("pre") ? "code that scrolls sideways" : "output that scrolls sideways");
    }
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
