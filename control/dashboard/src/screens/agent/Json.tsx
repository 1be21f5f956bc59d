import { Alert, Button, Group, Stack, Textarea } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { fieldsOf, Problem } from '../../parts/Problem.js'
import { useSentence } from '../../parts/Word.js'
import { useSession } from '../../session.js'
import { lineOf } from './config.js'

/** All settings as JSON, also those of later releases. A refused field is shown with its line. */
export function Json(props: {
  readonly text: string
  readonly changed: boolean
  readonly edit: (text: string) => void
  readonly discard: () => void
  readonly save: Pick<UseMutationResult<unknown, Error, object>, 'mutate' | 'error' | 'isPending'>
}) {
  const { text, changed, edit, discard, save } = props
  const t = useTranslations('agentVersions')
  const tAgent = useTranslations('agent')
  const tCommon = useTranslations('common')
  const sentence = useSentence()
  const { canWrite } = useSession()
  const area = useRef<HTMLTextAreaElement>(null)
  const [faulty, setFaulty] = useState<string | null>(null)
  const [sent, setSent] = useState<object | null>(null)
  const send = (): void => {
    try {
      const parsed: unknown = JSON.parse(text)
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        setFaulty(t('jsonObject'))
        return
      }
      setFaulty(null)
      setSent(parsed)
      // In the form in which the lines of refused fields are counted.
      edit(JSON.stringify(parsed, null, 2))
      save.mutate(parsed)
    } catch (error) {
      setFaulty(t('jsonInvalid', { reason: error instanceof Error ? error.message : String(error) }))
    }
  }
  const goTo = (line: number): void => {
    const start =
      text
        .split('\n')
        .slice(0, line - 1)
        .join('\n').length + (line > 1 ? 1 : 0)
    const end = text.indexOf('\n', start)
    area.current?.focus()
    area.current?.setSelectionRange(start, end < 0 ? text.length : end)
  }
  const issues = sent === null ? [] : fieldsOf(save.error)
  return (
    <Stack>
      {save.error !== null && <Problem error={save.error} />}
      {issues.length > 0 && (
        <Group gap="xs">
          {issues.map(({ path, reason }) => {
            const line = lineOf(sent, path)
            return (
              <Button
                key={`${path} ${reason}`}
                size="xs"
                variant="default"
                h="auto"
                mih="1.9rem"
                styles={{ label: { whiteSpace: 'normal' } }}
                onClick={() => goTo(line)}
              >
                {t('jsonLine', { line, path, reason: sentence(reason) })}
              </Button>
            )
          })}
        </Group>
      )}
      {faulty !== null && (
        <Alert color="red" role="alert">
          {faulty}
        </Alert>
      )}
      <Textarea
        ref={area}
        label={t('jsonLabel')}
        description={t('jsonHelp')}
        spellCheck={false}
        readOnly={!canWrite}
        autosize
        minRows={12}
        maxRows={36}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={text}
        onChange={({ currentTarget }) => edit(currentTarget.value)}
      />
      {canWrite && (
        <Group>
          <Button onClick={send} loading={save.isPending} disabled={!changed}>
            {tCommon('save')}
          </Button>
          <Button
            variant="default"
            disabled={!changed}
            onClick={() => {
              setFaulty(null)
              setSent(null)
              discard()
            }}
          >
            {tAgent('discard')}
          </Button>
        </Group>
      )}
    </Stack>
  )
}
