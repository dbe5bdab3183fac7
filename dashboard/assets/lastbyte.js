// What only the browser knows or can do: time zone, colour scheme, address bar, tab title.
(() => {
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");

  const place = (pathname) => ({
    pathname: pathname || window.location.pathname,
    query: Object.fromEntries(new URLSearchParams(window.location.search)),
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    scheme: darkness.matches ? "dark" : "light",
  });

  // Figures carry their colours, so they are drawn again when the system changes its scheme.
  darkness.addEventListener("change", () => window.dash_clientside.set_props("place", { data: place() }));

  // Dash writes the viewer's zoom into the figure and draws that again. To Plotly it is then the page's own range, which
  // the next news replace, so uirevision has nothing to keep. News always bring new data: without any, draw nothing.
  let plotly;
  Object.defineProperty(window, "Plotly", {
    configurable: true,
    get: () => plotly,
    set: (loaded) => {
      const react = loaded.react;
      loaded.react = (plot, figure, ...more) =>
        plot.data && plot.data === figure.data ? Promise.resolve(plot) : react(plot, figure, ...more);
      plotly = loaded;
    },
  });

  const mouse = { x: 0, y: 0 };
  const putTip = () => {
    const tip = document.getElementById("tip");
    if (!tip || !tip.classList.contains("lb-tip-on")) return;
    const { width, height } = tip.getBoundingClientRect();
    const right = mouse.x + 18 + width < window.innerWidth - 8;
    tip.style.left = `${Math.max(8, right ? mouse.x + 18 : mouse.x - 18 - width)}px`;
    tip.style.top = `${Math.max(8, Math.min(mouse.y + 14, window.innerHeight - height - 8))}px`;
  };
  document.addEventListener("mousemove", (event) => {
    mouse.x = event.clientX;
    mouse.y = event.clientY;
    putTip();
  });

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.lastbyte = {
    place: (pathname, _search) => place(pathname),

    title: () => {
      // The page is drawn after this callback returns.
      window.setTimeout(() => {
        const heading = document.querySelector("main h1, main h2");
        document.title = heading ? `${heading.textContent} · lastbyte` : "lastbyte";
      }, 50);
      return window.dash_clientside.no_update;
    },

    // The text of the cell under the pointer; it was escaped where it was made (dashboard/figures/cell_text.py).
    tip: (hovers, figures) => {
      const tip = document.getElementById("tip");
      const at = hovers.findIndex((hover) => hover && hover.points && hover.points.length);
      const point = at >= 0 ? hovers[at].points[0] : null;
      const trace = point ? figures[at].data[point.curveNumber] : null;
      const text = trace && trace.hovertext ? trace.hovertext[point.y][point.x] : "";
      if (tip) {
        if (text) tip.innerHTML = text;
        tip.classList.toggle("lb-tip-on", Boolean(text));
        putTip();
      }
      return window.dash_clientside.no_update;
    },

    // The address says what the controls say, so that a link reproduces the view; no history entry per switch.
    remember: (values, controls, path) => {
      if (path !== window.location.pathname) return window.dash_clientside.no_update;
      const query = new URLSearchParams(window.location.search);
      controls.forEach((control, i) => {
        const value = Array.isArray(values[i]) ? values[i].join(",") : values[i];
        if (value === null || value === undefined || value === "") query.delete(control.name);
        else query.set(control.name, value);
      });
      const search = query.toString();
      window.history.replaceState(window.history.state, "", path + (search ? `?${search}` : ""));
      return window.dash_clientside.no_update;
    },

    // A square leads to its cell, as a link would.
    open: (clicks) => {
      const click = clicks.find((found) => found && found.points && found.points.length);
      const point = click && click.points.find((found) => typeof found.customdata === "string" && found.customdata.startsWith("/"));
      if (point) {
        window.history.pushState({}, "", point.customdata);
        window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
        window.scrollTo(0, 0);
      }
      return clicks.map(() => null);
    },
  };

  // Buttons that save a figure: <button data-save="svg" data-name="file name"> in the card of the figure.
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-save]");
    const plot = button && button.closest("[data-figure]").querySelector(".js-plotly-plot");
    if (!plot || !window.Plotly) return;
    const { width, height } = plot.getBoundingClientRect();
    window.Plotly.downloadImage(plot, { format: button.dataset.save, filename: button.dataset.name, width, height, scale: 2 });
  });
})();
