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

    remember: (axis, baseline, candidate, cell) => {
      const query = new URLSearchParams({ axis, baseline, candidate });
      if (cell) {
        query.set("endpoint", cell.endpoint);
        query.set("profile", cell.profile);
      }
      window.history.replaceState(window.history.state, "", `${window.location.pathname}?${query}`);
      return window.dash_clientside.no_update;
    },
  };
})();
