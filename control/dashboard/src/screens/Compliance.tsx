import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { useFields } from '../parts/fields.js'
import { useNumbers } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

type Verdict = Result<'checkCompliance'>

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
type Purpose = (typeof PURPOSES)[number]

/** Answers one question: may this number be called, and if not, when? */
export function Compliance() {
  const t = useTranslations('compliance')
  const { api, canWrite } = useSession()
  const form = useFields({ e164: '+91', purpose: 'transactional' as string, numberId: '' })
  const { e164, numberId } = form.values
  const purpose = form.values.purpose as Purpose
  const numbers = useNumbers() ?? []
  const check = useMutation({
    mutationFn: () =>
      api.checkCompliance({ body: { e164, purpose, ...(numberId === '' ? {} : { numberId }) } }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    check.mutate()
  }
  return (
    <Page title={t('title')}>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <TextInput label={t('number')} type="tel" required {...form.text('e164')} />
          <NativeSelect
            label={t('purpose')}
            {...form.text('purpose')}
            data={PURPOSES.map((value) => ({ value, label: t(value) }))}
          />
          <NativeSelect
            label={t('from')}
            {...form.text('numberId')}
            data={[
              { value: '', label: t('anyNumber') },
              ...numbers.map(({ id, e164: from }) => ({ value: id, label: from })),
            ]}
          />
          <Button type="submit" loading={check.isPending} disabled={!canWrite}>
            {t('ask')}
          </Button>
        </Group>
      </form>
      {check.error !== null && <Problem error={check.error} />}
      {check.data !== undefined && <Answer verdict={check.data} />}
    </Page>
  )
}

function Answer({ verdict }: { readonly verdict: Verdict }) {
  const t = useTranslations('compliance')
  const word = useWord()
  const { ist } = useFormat()
  const { allowed, nextAllowedAt, checks } = verdict
  return (
    <Stack role="status">
      <Alert className="verdict" color={allowed ? 'green' : 'red'} title={allowed ? t('yes') : t('no')}>
        {!allowed && (
          <Text size="sm">
            {nextAllowedAt === null ? t('never') : t('from_', { time: ist(nextAllowedAt) })}
          </Text>
        )}
      </Alert>
      <Rows
        label={t('checks')}
        rows={checks}
        idOf={({ id }) => id}
        columns={[
          { title: t('check'), cell: ({ type }) => word(type) },
          {
            title: t('outcome'),
            cell: ({ outcome }) => <State value={outcome} />,
          },
          {
            title: t('why'),
            cell: ({ message, source }) => `${message}${source === null ? '' : ` (${source})`}`,
          },
        ]}
      />
    </Stack>
  )
}
