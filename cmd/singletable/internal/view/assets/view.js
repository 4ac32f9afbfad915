// Comfort for people with a keyboard. Every page works without this file.
(() => {
  "use strict";
  const themes = ["light", "dark"];
  const stored = () => {
    try {
      return sessionStorage.getItem("theme");
    } catch {
      return null; // The browser keeps nothing.
    }
  };
  // The choice lasts as long as the tab.
  if (themes.includes(stored())) document.documentElement.dataset.theme = stored();

  const rows = () => [...document.querySelectorAll("[data-row] [data-go]")];

  function move(by) {
    const all = rows();
    if (all.length === 0) return;
    const at = all.findIndex((a) => a.closest("[data-row]").contains(document.activeElement));
    const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    all[to].focus();
    all[to].closest("[data-row]").scrollIntoView({ block: "nearest" });
  }

  function find() {
    const input = document.querySelector("[data-find]") || document.getElementById("jump-pk");
    if (!input) return false;
    input.focus();
    input.select();
    return true;
  }

  function close() {
    const at = document.activeElement;
    const open = at && at.closest("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    } else if (at && at !== document.body) {
      at.blur();
    }
  }

  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (e.key === "Escape") return close();
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    const inRow = e.target.closest && e.target.closest("[data-row]");
    if (e.key === "/") {
      if (find()) e.preventDefault();
    } else if (e.key === "j" || (e.key === "ArrowDown" && inRow)) {
      move(1);
      e.preventDefault();
    } else if (e.key === "k" || (e.key === "ArrowUp" && inRow)) {
      move(-1);
      e.preventDefault();
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const theme = document.getElementById("theme");
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const root = document.documentElement;
      const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      try {
        sessionStorage.setItem("theme", root.dataset.theme);
      } catch {
        // It lasts as long as the page then.
      }
    });
    for (const button of document.querySelectorAll("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        const text = button.textContent;
        try {
          await navigator.clipboard.writeText(button.parentElement.querySelector(".command").textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "The browser does not allow it";
        }
        setTimeout(() => (button.textContent = text), 1500);
      });
    }
  });
})();
