/** File with the letters of Hindi, which not every system has. It is served at the root of the service. */
export const HINDI_LETTERS = 'account-hindi.woff2'

/**
 * Returns the style that makes the letters known. `root` is the relative URL of the service's root. Text waits for its
 * letters: what a browser draws before may keep empty boxes.
 */
export function hindiLetters(root: string): string {
  return `@font-face { font-family: "Noto Sans Devanagari"; src: url("${root}${HINDI_LETTERS}") format("woff2"); font-display: block; unicode-range: U+0900-097F, U+200C-200D, U+25CC }\n`
}

/** Returns the element that loads the letters with the page. */
export function preloadLetters(root: string): string {
  return `<link rel="preload" href="${root}${HINDI_LETTERS}" as="font" type="font/woff2" crossorigin>\n`
}

/**
 * The look of the dashboard for pages without its scripts: colours, type, spacing, light and dark. The values are those of
 * the dashboard's theme (Mantine: cyan 9 and 3, gray, dark); each text has a contrast of at least 4.5 : 1 on its ground.
 */
export const PAGE_STYLE = `:root { color-scheme: light dark; font-variant-numeric: tabular-nums;
  --text: light-dark(#1f2428, #c9c9c9); --dim: light-dark(#495057, #b8b8b8); --ground: light-dark(#f6f8f9, #1f1f1f);
  --surface: light-dark(#fff, #242424); --line: light-dark(#dee2e6, #424242); --edge: light-dark(#868e96, #828282);
  --tone: light-dark(#0b7285, #66d9e8); --tint: light-dark(#e3fafc, #3b3b3b); --button: #0b7285;
  --wrong: light-dark(#c92a2a, #ffa8a8); --wrong-tint: light-dark(#fff5f5, #3b2222) }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.55 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, Helvetica, Arial, "Noto Sans Devanagari", sans-serif; color: var(--text); background: var(--ground) }
body::before { content: ""; display: block; height: .25rem; background: var(--button) }
main { max-width: 30rem; margin: 2.5rem auto; padding: 1.5rem; overflow-wrap: anywhere; background: var(--surface); border: 1px solid var(--line); border-radius: .5rem }
@media (max-width: 31rem) { main { margin: 0; border: 0; border-radius: 0; min-height: 100vh; padding: 1.25rem 1rem } }
.brand { margin: 0 0 .75rem; font-weight: 700; letter-spacing: -.02em; color: var(--tone) }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .75rem }
h2 { font-size: 1rem; margin: 1.5rem 0 .25rem }
p { margin: .5rem 0 }
a { color: var(--tone) }
:focus-visible { outline: 2px solid var(--tone); outline-offset: 2px }
`
