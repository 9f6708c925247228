// Draws every figure in the colours of the screen, and again in those of paper before printing.
(() => {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)");
  const paperWidth = 660;

  // Only colours may name a CSS variable, so that no label of the data can be taken for one.
  function coloured(value, key, style) {
    if (Array.isArray(value)) return value.map((part) => coloured(part, key, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(([name, part]) => [name, coloured(part, name, style)]),
      );
    }
    const variable = typeof value === "string" && /color$/.test(key) && /^var\((--[a-z]+)\)$/.exec(value);
    return variable ? style.getPropertyValue(variable[1]).trim() : value;
  }

  function draw(figure, width) {
    const place = document.querySelector(`[data-figure="${figure.name}"]`);
    const style = getComputedStyle(root);
    const layout = coloured(figure.layout, "", style);
    layout.font.family = style.fontFamily;
    // On a touch screen a finger that moves scrolls the page; the buttons zoom.
    layout.dragmode = touch.matches ? false : "zoom";
    if (width) layout.width = width;
    else layout.autosize = true;
    return Plotly.react(place, coloured(figure.traces, "", style), layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: true,
      // By name: whatever else plotly offers may want the network.
      modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    });
  }

  async function drawAll() {
    for (const figure of figures) {
      await draw(figure);
      await new Promise((resolve) => setTimeout(resolve)); // lets the page scroll meanwhile
    }
    root.dataset.drawn = figures.length;
  }

  addEventListener("beforeprint", () => {
    root.dataset.medium = "paper";
    for (const figure of figures) draw(figure, paperWidth);
  });
  addEventListener("afterprint", () => {
    delete root.dataset.medium;
    drawAll();
  });
  dark.addEventListener("change", drawAll);
  drawAll();
})();
