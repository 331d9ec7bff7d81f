"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const toggle = document.getElementById("theme");
  let chosen = null;

  // Colors are names such as "@curve" until a theme gives them a value, under keys that say that they are colors only.
  const colored = (value, key, style) => {
    if (Array.isArray(value)) return value.map((item) => colored(item, key, style));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, colored(item, name, style)]));
    }
    const named = typeof value === "string" && value[0] === "@" && /color(scale)?$/.test(key);
    return named ? style.getPropertyValue("--" + value.slice(1)).trim() : value;
  };

  const draw = (width) => {
    const style = getComputedStyle(root);
    for (const [id, figure] of Object.entries(figures)) {
      const { data, layout } = colored(figure, "", style);
      layout.dragmode = touch ? false : "zoom";
      layout.autosize = !width;
      if (width) {
        const small = document.getElementById(id).closest(".maps") !== null;
        layout.width = small ? Math.floor(width / 3) - 24 : width;
        layout.font = { ...layout.font, size: 10 };
        layout.height = small ? layout.width : 0.62 * layout.height;
      }
      Plotly.react(id, data, layout, { displayModeBar: false, responsive: !width });
    }
  };

  const paint = (theme) => {
    root.dataset.theme = theme;
    toggle.textContent = theme === "dark" ? "Light" : "Dark";
    toggle.setAttribute("aria-label", theme === "dark" ? "Switch to light colors" : "Switch to dark colors");
    if (window.Plotly) draw();
  };

  const theme = () => chosen ?? (prefersDark.matches ? "dark" : "light");
  toggle.addEventListener("click", () => {
    chosen = theme() === "dark" ? "light" : "dark";
    paint(chosen);
  });
  prefersDark.addEventListener("change", () => paint(theme()));

  // Paper is white, and as wide as A4 without its margins.
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    if (window.Plotly) draw(680);
  });
  addEventListener("afterprint", () => paint(theme()));

  const copy = async (text, from) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      getSelection().selectAllChildren(from);
      return document.execCommand("copy");
    }
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const code = document.getElementById(button.dataset.copy);
      button.textContent = (await copy(code.textContent, code)) ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // The library travels compressed; the policy of the page lets in this script by its hash, and no other.
  const load = async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    draw();
    root.dataset.ready = "";
  };
  paint(theme());
  load().catch((error) => {
    document.getElementById("failed").hidden = false;
    throw error;
  });
})();
