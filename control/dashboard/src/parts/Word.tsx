import { Badge } from '@mantine/core'
import { type ReactNode, useCallback } from 'react'
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
      // A state is never cut: its word says what the colour cannot.
      styles={{
        root: { maxWidth: 'none', flexShrink: 0 },
        label: { color: 'var(--mantine-color-text)', overflow: 'visible' },
      }}
      // The filled grey of the dark theme cannot be seen on it.
      vars={() => ({
        root: {
          '--badge-dot-color': `light-dark(var(--mantine-color-${color}-7), var(--mantine-color-${color}-4))`,
        },
      })}
    >
      {children}
    </Badge>
  )
}

type KnownSentence = keyof typeof import('../messages/en-words.js').sentences

/** Signs of comparison in a sentence, which count as words. */
const SIGNS = [
  ['>=', ' min '],
  ['<=', ' max '],
  ['>', ' above '],
  ['<', ' below '],
] as const
const NUMBER = /\d[\d,]*(?:\.\d+)?/g

/** Returns the key of a sentence: its words, with `n` for each number. */
function sentenceKey(text: string): string {
  return SIGNS.reduce((said, [sign, word]) => said.replaceAll(sign, word), text)
    .replaceAll(NUMBER, ' n ')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
}

/**
 * Returns a function that says a sentence of the service in the language of the page. Unknown ones stay as they are. The part before a
 * colon stands for a sentence that is known without what follows.
 */
export function useSentence(): (text: string) => string {
  const t = useTranslations('sentences')
  return useCallback(
    (text) => {
      const [n = 0, m = 0] = text.match(NUMBER)?.map((number) => Number(number.replaceAll(',', ''))) ?? []
      const key = [text, text.split(':')[0] ?? '']
        .map((part) => sentenceKey(part) as KnownSentence)
        .find((known) => known !== ('' as string) && t.has(known))
      // A number without groups: it may be one of a telephone.
      return key === undefined ? text : t(key, { n, m: String(m) })
    },
    [t],
  )
}

/** Returns a function that names a value of the service in the language of the page. */
export function useWord(): (value: string) => string {
  const t = useTranslations('words')
  const sentence = useSentence()
  // A point would separate the parts of a key.
  return useCallback(
    (value) =>
      value.includes(' ')
        ? sentence(value)
        : !value.includes('.') && t.has(value as Known)
          ? t(value as Known)
          : value.replaceAll('_', ' '),
    [t, sentence],
  )
}

type KnownReason = keyof typeof import('../messages/en-words.js').reasons

/** Returns a function that tells why a check came to its result. The text of the service stands for unknown reasons. */
export function useReason(): (check: {
  readonly type: string
  readonly reason: string
  readonly outcome: string
  readonly message: string
}) => string {
  const t = useTranslations('reasons')
  return ({ type, reason, outcome, message }) => {
    // The operator chooses the reason of a block, and the state of a verification has many.
    if (type === 'enforcement' && outcome === 'block') return t('organization_blocked')
    if (type === 'verification' && outcome === 'block') return t('organization_not_verified')
    return !reason.includes('.') && t.has(reason as KnownReason) ? t(reason as KnownReason) : message
  }
}

/** Returns a function that names the things of the audit log and of the wallet, and what happened to them. */
export function useThings() {
  const t = useTranslations('things')
  const tDeeds = useTranslations('deeds')
  const plain = (value: string): string => value.replaceAll('_', ' ')
  const thing = (value: string): string =>
    t.has(value as keyof typeof import('../messages/en-words.js').things)
      ? t(value as keyof typeof import('../messages/en-words.js').things)
      : plain(value)
  return {
    thing,
    /** `knowledge_base.created` as `Knowledge base: created`. */
    action: (value: string): string => {
      const [subject = '', deed = ''] = value.split('.')
      const known = deed as keyof typeof import('../messages/en-words.js').deeds
      return `${thing(subject)}: ${deed !== '' && tDeeds.has(known) ? tDeeds(known) : plain(deed)}`
    },
  }
}

const SHORT_ID = /\b(?:[a-z]+_)*[0-9A-HJKMNP-TV-Z]{20}([0-9A-HJKMNP-TV-Z]{6})\b/g

/** Shortens the ids in a text to their last characters, in which they differ. */
export function shortIds(text: string): string {
  return text.replace(SHORT_ID, '…$1')
}

/** A value of the service as a word. */
export function State({ value }: { readonly value: string }) {
  const word = useWord()
  return <Word color={COLOURS[value] ?? 'gray'}>{word(value)}</Word>
}
