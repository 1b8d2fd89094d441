// Before the page is painted: the colours chosen last time. Loaded as it is, without a module, so
// that nothing flashes.
(() => {
  const KEY = "driftline-theme";
  const root = document.documentElement;
  const read = () => {
    try { return localStorage.getItem(KEY) || "auto"; } catch { return "auto"; }
  };
  const show = (theme) => { root.dataset.theme = theme; };
  show(read());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      const text = button.dataset.label.replace("{}", button.dataset[root.dataset.theme]);
      button.setAttribute("aria-label", text);
      button.title = text;
    };
    label();
    button.addEventListener("click", () => {
      const order = ["auto", "light", "dark"];
      const next = order[(order.indexOf(root.dataset.theme) + 1) % order.length];
      show(next);
      try { localStorage.setItem(KEY, next); } catch { /* then for this page only */ }
      label();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
  });
})();
