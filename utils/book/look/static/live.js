/* Builds the explorers, predictions and quizzes of a page in their containers, without a kernel. `explore.js`, which is
 * generated with the book, defines `window.courseModules` with the source of the modules. */
(() => {
  const modules = {};

  function moduleOf(kind) {
    const { shared, kinds } = window.courseModules;
    modules[kind] ??= import(URL.createObjectURL(new Blob([shared, kinds[kind]], { type: "text/javascript" })));
    return modules[kind];
  }

  /** Returns the model that anywidget would pass to a module. There is no kernel, so changes are not sent anywhere. */
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
    place.dataset.built = ""; // hides the static text on screen, but not in print
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".live").forEach(build));
})();
