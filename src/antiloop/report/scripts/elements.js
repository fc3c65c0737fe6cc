"use strict";
// Elements. What comes from a recording enters the page as a text node, made in el(), and is never
// parsed as HTML.

const INVISIBLE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const byId = (id) => document.getElementById(id);

/** Write a number for people. toLocaleString loads tables first, which takes longer than the overview. */
function count(number) {
  const [whole, ...fraction] = String(Number(number.toFixed(4))).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const about = (number, isEstimate) => (isEstimate && number ? "\u2248 " : "") + count(number);

/** Show what cannot be seen, such as marks that reverse the direction of a line, as escapes. */
function visible(text) {
  return String(text).replace(INVISIBLE,
    (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));
}

function el(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

/** Make an element with attributes, of which those that are undefined are left out. */
function elWith(tag, name, attributes, ...children) {
  const made = el(tag, name, ...children);
  for (const key in attributes) {
    if (attributes[key] !== undefined) made.setAttribute(key, visible(attributes[key]));
  }
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

const hashOf = (run, item) => `#run-${run}` + (item === undefined ? "" : `-${item}`);

function link(hash, name, ...children) {
  const made = el("a", name, ...children);
  made.href = hash;
  return made;
}

const state = (status) => "status is-" + status.toLowerCase().replace(/\W+/g, "-");

/** Say something to those who hear the page; what is the same as before is said again. */
function announce(text) {
  byId("live").replaceChildren(el("span", "", text));
}
