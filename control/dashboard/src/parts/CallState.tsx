import { useTranslations } from 'use-intl'
import { Word } from './Word.js'

const COLOURS: Readonly<Record<string, string>> = {
  queued: 'gray',
  initiated: 'gray',
  ringing: 'blue',
  in_progress: 'green',
  answered: 'green',
  failed: 'red',
}

type Known = keyof typeof import('../messages/en.js').en.status

/** The state of a call in words: the disposition once it has ended. Unknown states of a later release show as they are. */
export function CallState(props: { readonly status: string; readonly disposition: string | null }) {
  const t = useTranslations('status')
  const state = props.status === 'ended' ? (props.disposition ?? props.status) : props.status
  const text = t.has(state as Known) ? t(state as Known) : state
  return <Word color={COLOURS[state] ?? 'gray'}>{text}</Word>
}
