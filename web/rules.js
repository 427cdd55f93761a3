// The rules by which the command line reads tables: build.py puts them into the page (rules.py has them from Python).

export const RULES = JSON.parse(document.getElementById("rules").textContent);

const sourceOf = (name) => RULES.patterns[name];

// Whether a whole text, or its beginning, is of a pattern; the pattern itself.
export function whole(name) {
  const { source, flags } = sourceOf(name);
  const pattern = new RegExp(`^(?:${source})$`, flags);
  return (text) => pattern.test(text);
}
export function begins(name) {
  const { source, flags } = sourceOf(name);
  const pattern = new RegExp(`^(?:${source})`, flags);
  return (text) => pattern.test(text);
}
export const patternOf = (name, more = "") => new RegExp(sourceOf(name).source, sourceOf(name).flags + more);
