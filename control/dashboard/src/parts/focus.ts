import { useEffect, useState } from 'react'

/**
 * Gives the focus back to what had it when the part appeared, once the part is gone. Windows of Mantine do so only when they stay
 * mounted after they are closed.
 */
export function useFocusBack(): void {
  // Read before the part takes the focus.
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      setTimeout(() => {
        const { activeElement } = document
        const free = activeElement === null || activeElement === document.body
        if (free && opener instanceof HTMLElement) opener.focus({ preventScroll: true })
      })
    },
    [opener],
  )
}
