// Light, dark, or as the system has it. Runs before the page is drawn, so that nothing flashes.
(() => {
  const order = ["system", "light", "dark"];
  const words = { system: "as the system has them", light: "light", dark: "dark" };
  const read = () => {
    try {
      const kept = localStorage.getItem("prowess-theme");
      return order.includes(kept) ? kept : "system";
    } catch {
      return "system";
    }
  };
  const show = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    document.getElementById("theme")?.setAttribute("aria-label", `Colours: ${words[theme]}`);
  };
  show(read());
  addEventListener("storage", (event) => {
    if (event.key === "prowess-theme") show(read());
  });
  addEventListener("DOMContentLoaded", () => {
    show(read());
    document.getElementById("theme")?.addEventListener("click", () => {
      const next = order[(order.indexOf(read()) + 1) % order.length];
      try {
        localStorage.setItem("prowess-theme", next);
      } catch {
        // Without storage, it holds for this page.
      }
      show(next);
    });
  });
})();
