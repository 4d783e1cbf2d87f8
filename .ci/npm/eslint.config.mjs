import js from "@eslint/js";

const browser = ["document", "window", "getComputedStyle", "matchMedia", "requestAnimationFrame", "cancelAnimationFrame",
  "MutationObserver", "ResizeObserver", "TextEncoder", "TextDecoder", "DecompressionStream", "Blob", "Response",
  "structuredClone", "performance", "console", "setTimeout", "clearTimeout", "navigator", "CSS", "DOMPoint", "atob", "btoa", "DataView"];

export default [
  js.configs.recommended,
  {
    files: ["utils/{explore,learning,show,training}/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "consistent-return": "error",
      eqeqeq: "error",
      "max-len": ["error", { code: 120, ignoreTemplateLiterals: true, ignoreStrings: true }],
      "no-implicit-globals": "error",
      "no-shadow": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
];
