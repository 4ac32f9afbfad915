// Returns what is wrong with the page for people with a keyboard, a screen reader or a
// narrow screen. The contrast is that of WCAG 2.2, level AA.
(() => {
  const problems = [];
  const say = (e, text) => problems.push(`${text}: <${e.tagName.toLowerCase()}${e.id ? " id=" + e.id : ""} class="${e.className}"> ${(e.textContent || "").trim().slice(0, 60)}`);
  const root = document.documentElement;
  if (!root.lang) problems.push("the page has no language");
  if (document.querySelectorAll("h1").length !== 1) problems.push("the page has not one h1");
  if (document.querySelectorAll("main").length !== 1) problems.push("the page has not one main");
  if (root.scrollWidth > window.innerWidth) {
    problems.push(`the page is ${root.scrollWidth} wide on a screen of ${window.innerWidth}`);
    const clipped = (e) => e.parentElement && (getComputedStyle(e.parentElement).overflowX !== "visible" || clipped(e.parentElement));
    const wide = [...document.querySelectorAll("main *, header *, footer *")].filter((e) => e.getBoundingClientRect().right > window.innerWidth && !clipped(e));
    for (const e of wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)))) say(e, "too wide");
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push(`two elements have the id ${id}`);
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (e.labels.length === 0 && !e.getAttribute("aria-label")) say(e, "no label");
  }
  for (const e of document.querySelectorAll("a[href], button, summary")) {
    if (e.checkVisibility() && !(e.innerText.trim() || e.getAttribute("aria-label"))) say(e, "no name");
  }
  for (const e of document.querySelectorAll("table")) {
    if (!e.caption) say(e, "no caption");
    for (const th of e.querySelectorAll("th")) if (!th.scope) say(th, "no scope");
  }
  for (const e of document.querySelectorAll("[style], img:not([alt])")) say(e, "a style in place, or a picture without a text");

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * (top[3] / 255) + below[i] * (1 - top[3] / 255)).concat(255);
  const background = (e) => {
    if (!e) return rgba("Canvas");
    const own = rgba(getComputedStyle(e).backgroundColor);
    return own[3] === 255 ? own : over(own, background(e.parentElement));
  };
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (seen.has(e) || e.closest("[aria-hidden=true]") || !walker.currentNode.textContent.trim() || !e.checkVisibility({ opacityProperty: true })) continue;
    seen.add(e);
    const style = getComputedStyle(e);
    const below = background(e);
    const text = over(rgba(style.color), below);
    const [light, dark] = [luminance(text), luminance(below)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) say(e, `contrast ${ratio.toFixed(2)}`);
  }
  return problems;
})();
