import { useEffect, useRef, useSyncExternalStore } from 'react'

const STORED = 'parley-single-keys'
const listeners = new Set<() => void>()

/** Tells whether single keys act. A user of speech input switches them off (WCAG 2.2, 2.1.4). */
export function hasSingleKeys(): boolean {
  return localStorage.getItem(STORED) !== 'off'
}

export function setSingleKeys(on: boolean): void {
  if (on) localStorage.removeItem(STORED)
  else localStorage.setItem(STORED, 'off')
  for (const listener of listeners) listener()
}

/** Returns whether single keys act, also after a change of it. */
export function useSingleKeys(): boolean {
  return useSyncExternalStore((changed) => {
    listeners.add(changed)
    return () => listeners.delete(changed)
  }, hasSingleKeys)
}

/** Parts of a page that use keys by themselves. */
const WRITES = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=dialog]'
/** Keys that act on what has the focus. */
const ACTS: Readonly<Record<string, string>> = {
  ' ': 'button, a, summary, audio, input, [role=tab]',
  arrowleft: '[role=tab], audio, .wide',
  arrowright: '[role=tab], audio, .wide',
}

/** Tells whether a pressed key belongs to the element with the focus, to a dialog or to the browser. */
function isTaken({ target, key, ctrlKey, metaKey, altKey, defaultPrevented }: KeyboardEvent): boolean {
  if (defaultPrevented || ctrlKey || metaKey || altKey) return true
  if (document.querySelector('[role=dialog]') !== null) return true
  if (!(target instanceof Element)) return false
  const acts = ACTS[key.toLowerCase()]
  return target.closest(WRITES) !== null || (acts !== undefined && target.closest(acts) !== null)
}

/** Time after which the first key of a pair is forgotten (ms). */
const PAIR_MS = 1_500

/**
 * Runs what belongs to a pressed key: `j`, `?`, `arrowleft`, or a pair of keys such as `g c`. All names are small. Nothing happens while
 * the user writes, while a dialog is open, or when single keys are switched off.
 */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    let first: { readonly key: string; readonly at: number } | null = null
    const press = (event: KeyboardEvent): void => {
      if (!hasSingleKeys() || isTaken(event)) return
      const key = event.key.toLowerCase()
      const pair = first !== null && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${key}` : null
      first = null
      const action = (pair === null ? undefined : latest.current[pair]) ?? latest.current[key]
      if (action !== undefined) {
        event.preventDefault()
        // The second key of a pair is not also a key of the list that has the focus.
        event.stopPropagation()
        action()
      } else if (Object.keys(latest.current).some((name) => name.startsWith(`${key} `))) {
        first = { key, at: event.timeStamp }
      }
    }
    window.addEventListener('keydown', press, true)
    return () => window.removeEventListener('keydown', press, true)
  }, [])
}
