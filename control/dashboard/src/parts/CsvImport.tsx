import { Button, FileButton, Text } from '@mantine/core'
import { useTranslations } from 'use-intl'
import { Dialog } from './Dialog.js'
import { type CsvRecords, readCsv } from './files.js'
import { useAction } from './List.js'
import { Problem } from './Problem.js'
import { useSentence } from './Word.js'

interface Imported {
  readonly imported: number
  readonly rejected: readonly {
    readonly index: number
    readonly e164: string
    readonly code: string
    readonly message: string
  }[]
}

/** Rows that one request takes. */
const BATCH = 1000
const MOST = 50_000
const SHOWN = 20
/** The header is line 1. */
const FIRST_LINE = 2

/** Imports a CSV file in requests of 1,000 rows, and tells which rows the service refused. */
export function CsvImport(props: {
  readonly title: string
  readonly hint: string
  /** Columns that the file must have. */
  readonly columns: readonly string[]
  readonly send: (rows: CsvRecords) => Promise<Imported>
  readonly close: () => void
}) {
  const t = useTranslations('consents')
  const tErrors = useTranslations('rowErrors')
  const sentence = useSentence()
  const { title, hint, columns, send, close } = props
  /** `e164: must be ...` names the field that is wrong. */
  const why = (code: string, message: string): string => {
    const [, field, reason] = /^(\w+): (.+)$/.exec(message) ?? []
    if (code !== 'validation_error' || field === undefined || reason === undefined) return sentence(message)
    return field === 'e164' ? tErrors('number') : tErrors('field', { field, reason: sentence(reason) })
  }
  const run = useAction(async (file: File): Promise<Imported | string> => {
    const rows = await readCsv(file).catch(() => [])
    if (rows.length === 0) return t('none')
    if (rows.length > MOST) return t('tooMany', { count: MOST })
    if (columns.some((column) => rows.every((row) => row[column] === undefined))) {
      return t('missing', { columns: columns.join(', ') })
    }
    let imported = 0
    const rejected: Imported['rejected'][number][] = []
    for (let start = 0; start < rows.length; start += BATCH) {
      const result = await send(rows.slice(start, start + BATCH))
      imported += result.imported
      rejected.push(...result.rejected.map((row) => ({ ...row, index: row.index + start })))
    }
    return { imported, rejected }
  })
  const { data } = run
  return (
    <Dialog title={title} close={close} size="lg">
      <Text size="sm">{hint}</Text>
      <div>
        <FileButton accept="text/csv,.csv" onChange={(file) => file !== null && run.mutate(file)}>
          {(button) => (
            <Button data-autofocus loading={run.isPending} {...button}>
              {t('import')}
            </Button>
          )}
        </FileButton>
      </div>
      {run.error !== null && <Problem error={run.error} />}
      <div role="status">
        {typeof data === 'string' && data}
        {typeof data === 'object' && (
          <>
            <Text>{t('imported', { imported: data.imported, rejected: data.rejected.length })}</Text>
            {data.rejected.slice(0, SHOWN).map(({ index, e164, code, message }) => (
              <Text size="sm" key={index}>
                {t('line', { line: index + FIRST_LINE, e164, message: why(code, message) })}
              </Text>
            ))}
          </>
        )}
      </div>
    </Dialog>
  )
}
