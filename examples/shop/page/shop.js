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
  if (response.status === 401 && path !== "/sessions") {
    if (token) logOut();
    error.message = token ? "your session has ended; log in again" : "log in first";
  }
  throw new Failure(response.status, error);
}

// run does something and shows its error.
async function run(action) {
  say("");
  try {
    await action();
  } catch (e) {
    say(e.message);
  }
}

function say(text) {
  find("message").textContent = text;
}

// list shows the first page of a list, and a further one for each click on its More.
async function list(id, path, show, lastKey) {
  const separator = path.includes("?") ? "&" : "?";
  const page = await call("GET", lastKey ? path + separator + "lastKey=" + encodeURIComponent(lastKey) : path);
  if (!lastKey) find(id).replaceChildren();
  find(id).append(...page.items.map(show));
  const more = find(id + "-more");
  more.hidden = !page.lastKey;
  more.onclick = () => run(() => list(id, path, show, page.lastKey));
}

async function showCategories() {
  const { items } = await call("GET", "/categories");
  find("categories").replaceChildren(...items.map((c) => {
    const b = button(c.name, () => showProducts(c));
    b.dataset.slug = c.slug;
    return b;
  }));
  find("add").elements.category.replaceChildren(...items.map((c) => new Option(c.name, c.slug)));
  if (items.length > 0) await showProducts(items[0]);
}

async function showProducts(category) {
  await list("products", `/categories/${encodeURIComponent(category.slug)}/products`, (p) => product(p, button("Add to cart", async () => {
    await call("POST", "/cart/items", { productId: p.productId, quantity: 1 });
    await showCart();
  })));
  for (const b of find("categories").children) b.setAttribute("aria-current", b.dataset.slug === category.slug);
  find("description").textContent = category.description ?? "";
}

const product = (p, ...buttons) => row(p.name, money(p.price), String(p.stock), element("span", ...buttons));

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

const showOrders = () => list("orders", "/orders", (o) => element("li", `${o.placedAt.slice(0, 10)}, ${money(o.total)}, ${o.status} `,
  button("Show", () => findOrder(o.orderId))));

const findOrder = async (id) => showOrder(await call("GET", "/orders/" + encodeURIComponent(id)));

const next = { PLACED: "PAID", PAID: "SHIPPED", SHIPPED: "DELIVERED" };

function showOrder(order) {
  const view = find("order");
  view.hidden = false;
  view.querySelector("h3").textContent = `Order ${order.orderId}: ${order.status}`;
  view.querySelector("tbody").replaceChildren(...order.items.map((i) => row(i.name, String(i.quantity), money(i.price), money(i.subtotal))));
  view.querySelector("tfoot td").textContent = money(order.total);
  const status = isAdmin() && next[order.status];
  find("advance").replaceChildren(...(status ? [button(`It is ${status}`, async () => {
    await call("PATCH", "/admin/orders/" + encodeURIComponent(order.orderId), { status });
    await findOrder(order.orderId);
  })] : []));
}

const isAdmin = () => stored.getItem("role") === "admin";

const showAll = () => list("all", "/admin/products?active=" + find("active").value, (p) => {
  const change = (fields) => async () => {
    await call("PATCH", "/admin/products/" + encodeURIComponent(p.productId), fields);
    await showAll();
  };
  return product(p, button("One more", change({ addStock: 1 })), button(p.active ? "Deactivate" : "Activate", change({ active: !p.active })));
});

const when = (time) => time.slice(0, 19).replace("T", " ");

const showLowStock = () => list("low", "/admin/low-stock", (n) => row(when(n.at), n.name, String(n.stock)));

const showAudits = (day) => list("audits", "/admin/audits?day=" + day, (a) =>
  row(when(a.at), `${a.type} ${a.id}`, a.by ?? "", a.changed.map((name) => `${name}: ${text(a.old, name)} → ${text(a.new, name)}`).join(", ")));

const text = (values, name) => (values && name in values ? JSON.stringify(values[name]) : "?"); // some values are secret

async function showAccount() {
  const name = stored.getItem("name");
  const loggedIn = Boolean(stored.getItem("token"));
  find("who").textContent = loggedIn ? name : "";
  find("logout").hidden = find("shopping").hidden = !loggedIn;
  find("account").hidden = loggedIn;
  find("admin").hidden = !loggedIn || !isAdmin();
  if (loggedIn) await Promise.all([showCart(), showOrders(), ...(isAdmin() ? [showAll(), showLowStock()] : [])]);
}

function logOut() {
  stored.clear();
  for (const id of ["cart", "orders", "all", "low", "audits", "advance"]) find(id).replaceChildren();
  find("order").querySelector("tbody").replaceChildren();
  find("order").hidden = true;
  run(showAccount);
}

find("logout").addEventListener("click", logOut);
find("checkout").addEventListener("click", () => run(checkOut));

// logIn begins the session that a request returns.
async function logIn(path, body) {
  const session = await call("POST", path, body);
  stored.setItem("token", session.token);
  stored.setItem("name", session.user.name);
  stored.setItem("role", session.user.role);
  find("login").reset();
  await showAccount();
}

async function mailCode(path, body, then) {
  await call("POST", path, body);
  say(`A mail with a code is on its way. Enter the code ${then}.`);
}

// submit calls action with the fields of a form and the button that was clicked.
function submit(id, action) {
  find(id).addEventListener("submit", (event) => {
    event.preventDefault();
    run(() => action(Object.fromEntries(new FormData(event.target)), event.submitter.value, event.target));
  });
}

submit("login", ({ email, password, name, code }, wanted) => ({
  login: () => logIn("/sessions", { email, password, code }),
  signup: () => mailCode("/users", { email, password, name }, "and log in"),
  mail: () => mailCode("/codes", { email }, "and a new password"),
  password: () => logIn("/passwords", { code, password, name }),
})[wanted]());
submit("find", ({ id }) => findOrder(id));
submit("audited", ({ day }) => showAudits(day));
submit("add", async ({ name, category, price, stock }, _, form) => {
  await call("POST", "/admin/products", { name, category, price: Math.round(price * 100), stock: Number(stock), active: true });
  form.reset();
  await showAll();
});
find("active").addEventListener("change", () => run(showAll));
run(async () => {
  await showCategories();
  await showAccount();
});
