/* Builds the explorers, predictions and quizzes of a page, where the notebook would: there is no kernel, and none is
 * asked. `explore.js`, made with the book, has the modules' texts in `window.courseModules`. */
(() => {
  const modules = {};

  function moduleOf(kind) {
    const { shared, kinds } = window.courseModules;
    modules[kind] ??= import(URL.createObjectURL(new Blob([shared, kinds[kind]], { type: "text/javascript" })));
    return modules[kind];
  }

  /** What anywidget hands to a module; nobody hears what it sends. */
  function modelOf(traits) {
    return {
      get: (name) => traits[name],
      set: (name, value) => { traits[name] = value; },
      save_changes: () => {},
      on: () => {},
      off: () => {},
      send: () => { throw new Error("no kernel"); },
    };
  }

  async function build(place) {
    const traits = { ...JSON.parse(place.querySelector("script").textContent), reading: true };
    const bytes = Uint8Array.from(atob(traits.data), (letter) => letter.charCodeAt(0));
    traits.data = new DataView(bytes.buffer);
    const { default: made } = await moduleOf(place.dataset.kind);
    const built = document.createElement("div");
    place.append(built);
    made.render({ model: modelOf(traits), el: built });
    place.dataset.built = ""; // the words give way, on paper they stay
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".live").forEach(build));
})();
