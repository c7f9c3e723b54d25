"use strict";
// Filtering, sorting and colours. Everything is readable without this; texts are only ever read and compared.
(() => {
  const form = document.getElementById("filter");
  const list = document.getElementById("tasks");
  const count = document.getElementById("count");
  const tasks = Array.from(list.children, (box, place) => ({
    box,
    place,
    left: Number(box.dataset.l),
    right: Number(box.dataset.r),
    at: Number(box.dataset.t),
    session: box.dataset.s,
    marks: (box.dataset.k || "").split(" "),
  }));
  const gain = (task) => task.right - task.left || 0;
  const orders = {
    replayed: (a, b) => a.place - b.place,
    loss: (a, b) => gain(a) - gain(b) || a.place - b.place,
    gain: (a, b) => gain(b) - gain(a) || a.place - b.place,
    low: (a, b) => (a.right || 0) - (b.right || 0) || a.place - b.place,
    high: (a, b) => (b.right || 0) - (a.right || 0) || a.place - b.place,
    newest: (a, b) => b.at - a.at || a.place - b.place,
  };
  const words = () => form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  // The text of a task is read once, when somebody first searches.
  const textOf = (task) => (task.text ??= task.box.textContent.toLowerCase());

  const show = () => {
    const wanted = words();
    const mark = form.elements.marks.value;
    const session = form.elements.session.value;
    let shown = 0;
    for (const task of tasks) {
      const fits =
        (!mark || task.marks.includes(mark)) &&
        (!session || task.session === session) &&
        wanted.every((word) => textOf(task).includes(word));
      task.box.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${tasks.length} tasks`;
  };
  const sort = () => {
    const ordered = [...tasks].sort(orders[form.elements.order.value]);
    list.append(...ordered.map((task) => task.box));
  };

  const sessions = document.querySelectorAll("#sessions tbody tr");
  for (const row of sessions) {
    const option = document.createElement("option");
    option.value = row.dataset.s;
    option.textContent = row.cells[0].textContent.slice(0, 60);
    form.elements.session.append(option);
    row.querySelector("a")?.addEventListener("click", (event) => {
      event.preventDefault();
      form.elements.session.value = row.dataset.s;
      show();
      form.scrollIntoView();
    });
  }
  form.elements.session.hidden = !sessions.length;
  form.addEventListener("input", show);
  form.elements.order.addEventListener("change", sort);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { sort(); show(); }));
  form.hidden = false;
  show();

  // Bars behind what features contributed, drawn when a task is opened.
  list.addEventListener(
    "toggle",
    (event) => {
      const parts = Array.from(event.target.querySelectorAll(".f i"), (part) => ({
        part,
        value: Number(part.textContent.split(" ").at(-1)),
      }));
      const most = Math.max(...parts.map((one) => Math.abs(one.value)), 1e-9);
      for (const { part, value } of parts) {
        part.style.setProperty("--share", `${(100 * Math.abs(value)) / most}%`);
        part.classList.toggle("bad", value < 0);
      }
    },
    true,
  );

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    table.querySelectorAll("thead th").forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      let down = false;
      button.addEventListener("click", () => {
        down = !down;
        const key = (row) => row.cells[column].textContent;
        const compared = (a, b) => {
          const [one, other] = [parseFloat(key(a).replaceAll(",", "")), parseFloat(key(b).replaceAll(",", ""))];
          return Number.isNaN(one) || Number.isNaN(other) ? key(a).localeCompare(key(b)) : one - other;
        };
        const rows = [...body.rows].sort(compared);
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  }

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement.classList;
    const dark = root.contains("dark") ||
      (!root.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    root.remove("dark", "light");
    root.add(dark ? "light" : "dark");
  });
})();
