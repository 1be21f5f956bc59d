import { Text } from '@mantine/core'
import { useTranslations } from 'use-intl'
import { State, useReason, useWord } from './Word.js'

interface Check {
  readonly id: string
  readonly type: string
  readonly outcome: string
  readonly reason: string
  readonly message: string
  readonly source: string | null
}

/** Checks of the gate with their results and reasons: a line each, or a card on a narrow screen. */
export function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const t = useTranslations('compliance')
  const word = useWord()
  const reason = useReason()
  return (
    <ul className="checks card" aria-label={t('checks')}>
      {checks.map((check) => (
        <li key={check.id}>
          <strong>{word(check.type)}</strong>
          <State value={check.outcome} />
          <div>
            {reason(check)}
            {check.source !== null && (
              <Text size="xs" c="dimmed">
                {check.source}
              </Text>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}
