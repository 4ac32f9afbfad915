"use strict";

const find = (id) => document.getElementById(id);
const money = (cents) => (cents / 100).toFixed(2);
const stored = sessionStorage; // until the tab is closed

// element returns an element with texts and elements in it. Texts are never HTML.
function element(name, ...children) {
  const e = document.createElement(name);
  e.append(...children);
  return e;
}

function button(text, click) {
  const b = element("button", text);
  b.type = "button";
  b.addEventListener("click", () => run(click));
  return b;
}

const row = (...cells) => element("tr", ...cells.map((c) => element("td", c)));

class Failure extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
  }
}

// call sends a request of the API and returns its response.
async function call(method, path, body, headers = {}) {
  const token = stored.getItem("token");
  if (token) headers.Authorization = "Bearer " + token;
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : null;
  let error = { message: "something went wrong; try again" };
  try {
    error = JSON.parse(text).error;
  } catch {} // a response of something between the browser and the shop
  if (response.status === 401 && token && path !== "/sessions") logOut();
  throw new Failure(response.status, error);
}

// run does something and shows its error.
async function run(action) {
  find("message").textContent = "";
  try {
    await action();
  } catch (e) {
    find("message").textContent = e.message;
  }
}

async function showCategories() {
  const { items } = await call("GET", "/categories");
  find("categories").replaceChildren(...items.map((c) => {
    const b = button(c.name, () => showProducts(c));
    b.dataset.slug = c.slug;
    return b;
  }));
  if (items.length > 0) await showProducts(items[0]);
}

async function showProducts(category, lastKey) {
  const query = lastKey ? "?lastKey=" + encodeURIComponent(lastKey) : "";
  const page = await call("GET", `/categories/${encodeURIComponent(category.slug)}/products${query}`);
  for (const b of find("categories").children) b.setAttribute("aria-current", b.dataset.slug === category.slug);
  find("description").textContent = category.description ?? "";
  if (!lastKey) find("products").replaceChildren();
  find("products").append(...page.items.map((p) => row(p.name, money(p.price), String(p.stock), button("Add to cart", async () => {
    await call("POST", "/cart/items", { productId: p.productId, quantity: 1 });
    await showCart();
  }))));
  find("more").hidden = !page.lastKey;
  find("more").onclick = () => run(() => showProducts(category, page.lastKey));
}

async function showCart() {
  const { items, cartRevision } = await call("GET", "/cart");
  find("cart").replaceChildren(...items.map((l) => row(l.name, String(l.quantity), l.price === undefined ? "not sold" : money(l.price * l.quantity), button("Remove", async () => {
    await call("DELETE", "/cart/items/" + encodeURIComponent(l.productId));
    await showCart();
  }))));
  find("checkout").disabled = items.length === 0;
  const total = items.reduce((sum, l) => sum + (l.price ?? 0) * l.quantity, 0);
  find("checkout").dataset.revision = cartRevision;
  find("total").textContent = money(total);
}

// checkOut orders the cart as it is shown. Until it knows what has become of the order, it
// repeats the same request with the same key, so that there is one order.
async function checkOut() {
  const request = stored.getItem("checkout") ?? JSON.stringify([crypto.randomUUID(), find("checkout").dataset.revision]);
  stored.setItem("checkout", request);
  const [key, cartRevision] = JSON.parse(request);
  try {
    const order = await call("POST", "/orders", { cartRevision }, { "Idempotency-Key": key });
    stored.removeItem("checkout");
    showOrder(order);
  } catch (e) {
    if (e instanceof Failure && e.status < 500) stored.removeItem("checkout");
    throw e;
  } finally {
    if (stored.getItem("token")) await Promise.all([showCart(), showOrders()]);
  }
}

async function showOrders() {
  const { items } = await call("GET", "/orders");
  find("orders").replaceChildren(...items.map((o) => element("li", `${o.placedAt.slice(0, 10)}, ${money(o.total)}, ${o.status} `,
    button("Show", async () => showOrder(await call("GET", "/orders/" + encodeURIComponent(o.orderId)))))));
}

function showOrder(order) {
  const view = find("order");
  view.hidden = false;
  view.querySelector("h3").textContent = `Order ${order.orderId}: ${order.status}`;
  view.querySelector("tbody").replaceChildren(...order.items.map((i) => row(i.name, String(i.quantity), money(i.price), money(i.subtotal))));
  view.querySelector("tfoot td").textContent = money(order.total);
}

async function showAccount() {
  const name = stored.getItem("name");
  const loggedIn = Boolean(stored.getItem("token"));
  find("who").textContent = loggedIn ? name : "";
  find("logout").hidden = find("shopping").hidden = !loggedIn;
  find("account").hidden = loggedIn;
  if (loggedIn) await Promise.all([showCart(), showOrders()]);
}

function logOut() {
  stored.clear();
  for (const list of [find("cart"), find("orders"), find("order").querySelector("tbody")]) list.replaceChildren();
  find("order").hidden = true;
  run(showAccount);
}

find("logout").addEventListener("click", logOut);
find("checkout").addEventListener("click", () => run(checkOut));
find("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const { email, password, name } = Object.fromEntries(new FormData(form));
  run(async () => {
    if (event.submitter.value === "signup") await call("POST", "/users", { email, password, name });
    const session = await call("POST", "/sessions", { email, password });
    stored.setItem("token", session.token);
    stored.setItem("name", session.user.name);
    form.reset();
    await showAccount();
  });
});
run(async () => {
  await showCategories();
  await showAccount();
});
