import { Alert, Text } from '@mantine/core'
import { useTranslations } from 'use-intl'

interface RefusedRow {
  readonly line: number
  readonly e164: string
  readonly reason: string
  /** Message of the service, for a reason that has no text here. */
  readonly message: string
}

const SHOWN = 20

type Known = keyof typeof import('../messages/en-words.js').rowErrors

/** Says how many rows were taken, and why others were not, by the line of the file. */
export function RefusedRows({
  title,
  rows,
}: {
  readonly title: string
  readonly rows: readonly RefusedRow[]
}) {
  const t = useTranslations('campaigns')
  const tErrors = useTranslations('rowErrors')
  return (
    <Alert role="status" color={rows.length === 0 ? 'green' : 'orange'}>
      <Text size="sm">{title}</Text>
      {rows.slice(0, SHOWN).map(({ line, e164, reason, message }) => (
        <Text size="sm" key={`${line} ${reason}`}>
          {t('row', {
            line,
            e164: e164 === '' ? '–' : e164,
            message: tErrors.has(reason as Known) ? tErrors(reason as Known) : message,
          })}
        </Text>
      ))}
      {rows.length > SHOWN && <Text size="sm">{t('moreRows', { count: rows.length - SHOWN })}</Text>}
    </Alert>
  )
}
