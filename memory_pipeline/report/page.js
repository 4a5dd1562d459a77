"use strict";
// Improves a page that is whole without it: finds facts, hides history, opens and folds sections.
(() => {
  const byId = (id) => document.getElementById(id);
  const open = (element) => { if (element) element.open = true; };

  const show = () => {
    const target = location.hash && byId(location.hash.slice(1));
    if (!target || !target.closest("details")) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) {
      box.open = true;
    }
    open(target.querySelector("th > details"));
    target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", show);

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.fold:not([open]), details.group:not([open])")];
    folded.forEach(open);
  });
  addEventListener("afterprint", () => folded.forEach((box) => { box.open = false; }));

  const tools = byId("tools");
  if (!tools) return;
  const find = byId("find"), past = byId("past"), found = byId("found"), unfold = byId("unfold");
  const subjects = [...document.querySelectorAll("details.subject")].map((box) => ({
    box,
    wasOpen: box.open,
    groups: [...box.querySelectorAll("details.group")],
    name: box.querySelector("h3").textContent.toLowerCase(),
    facts: [...box.querySelectorAll("tr.fact")].map((row) => ({
      row,
      isPast: row.classList.contains("past"),
      text: row.textContent.toLowerCase(),
    })),
  }));

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0, all = 0;
    for (const { box, groups, name, facts, wasOpen } of subjects) {
      let hits = 0;
      for (const { row, isPast, text } of facts) {
        const fits = (past.checked || !isPast)
          && words.every((word) => text.includes(word) || name.includes(word));
        row.hidden = !fits;
        hits += fits;
      }
      box.hidden = hits === 0;
      for (const group of groups) group.hidden = !group.querySelector("tr.fact:not([hidden])");
      const isSought = words.length > 0;
      if (isSought && hits) [box, ...groups].forEach(open);
      if (!isSought && find.dataset.used) {
        box.open = wasOpen;
        groups.forEach((group) => { group.open = false; });
      }
      count += hits;
      all += facts.length;
    }
    find.dataset.used = words.length ? "yes" : "";
    found.textContent = count === all ? "" : `${count} of ${all} facts`;
  };
  let waiting;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  past.addEventListener("change", filter);
  tools.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
  unfold.addEventListener("click", () => {
    const opens = unfold.getAttribute("aria-pressed") !== "true";
    for (const subject of subjects) {
      subject.wasOpen = opens;
      for (const box of [subject.box, ...subject.groups]) box.open = opens;
    }
    unfold.setAttribute("aria-pressed", String(opens));
    unfold.textContent = opens ? "Fold all" : "Open all";
  });
  past.parentElement.hidden = !document.querySelector("tr.past");
  unfold.hidden = subjects.every((subject) => subject.box.open && !subject.groups.length);
  tools.hidden = false;
  show();
})();
