import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'

type Known = keyof typeof import('../messages/en-words.js').words

/** Values with a colour of their own. Others are grey. */
const COLOURS: Readonly<Record<string, string>> = {
  active: 'green',
  approved: 'green',
  completed: 'green',
  delivered: 'green',
  done: 'green',
  paid: 'green',
  pass: 'green',
  ready: 'green',
  running: 'green',
  verified: 'green',
  block: 'red',
  disputed: 'red',
  error: 'red',
  failed: 'red',
  refused: 'red',
  rejected: 'red',
  delayed: 'orange',
  due: 'orange',
  paused: 'orange',
  pending_verification: 'orange',
  submitted: 'orange',
  warn: 'orange',
  pending: 'blue',
  processing: 'blue',
  scheduled: 'blue',
}

/** A state as a word with a coloured edge. The word has the colour of the text, which has enough contrast. */
export function Word({ color, children }: { readonly color: string; readonly children: ReactNode }) {
  return (
    <Badge
      variant="dot"
      color={color}
      tt="none"
      fw={500}
      styles={{ label: { color: 'var(--mantine-color-text)' } }}
    >
      {children}
    </Badge>
  )
}

/** Returns a function that names a value of the service in the language of the page. */
export function useWord(): (value: string) => string {
  const t = useTranslations('words')
  // A point would separate the parts of a key.
  return (value) =>
    !value.includes('.') && t.has(value as Known) ? t(value as Known) : value.replaceAll('_', ' ')
}

/** A value of the service as a word. */
export function State({ value }: { readonly value: string }) {
  const word = useWord()
  return <Word color={COLOURS[value] ?? 'gray'}>{word(value)}</Word>
}
