import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

/** A state as a word with a coloured edge. The word has the colour of the text, which has enough contrast. */
export function Word({ color, children }: { readonly color: string; readonly children: ReactNode }) {
  return (
    <Badge variant="outline" color={color} styles={{ label: { color: 'var(--mantine-color-text)' } }}>
      {children}
    </Badge>
  )
}
