import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type Verdict = Result<'checkCompliance'>

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
type Purpose = (typeof PURPOSES)[number]

const COLOURS: Readonly<Record<string, string>> = { pass: 'green', warn: 'orange', block: 'red' }

/** Answers one question: may this number be called, and if not, when? */
export function Compliance() {
  const t = useTranslations('compliance')
  const { api, canWrite } = useSession()
  const key = useKey()
  const [e164, setE164] = useState('+91')
  const [purpose, setPurpose] = useState<Purpose>('transactional')
  const [numberId, setNumberId] = useState('')
  const numbers = useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
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
          <TextInput
            label={t('number')}
            type="tel"
            required
            value={e164}
            onChange={({ currentTarget }) => setE164(currentTarget.value)}
          />
          <NativeSelect
            label={t('purpose')}
            value={purpose}
            onChange={({ currentTarget }) => setPurpose(currentTarget.value as Purpose)}
            data={PURPOSES.map((value) => ({ value, label: t(value) }))}
          />
          <NativeSelect
            label={t('from')}
            value={numberId}
            onChange={({ currentTarget }) => setNumberId(currentTarget.value)}
            data={[
              { value: '', label: t('anyNumber') },
              ...(numbers.data?.items.map(({ id, e164: from }) => ({ value: id, label: from })) ?? []),
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
  const { time } = useFormat()
  const { allowed, nextAllowedAt, checks } = verdict
  return (
    <Stack role="status">
      <Alert color={allowed ? 'green' : 'red'} title={allowed ? t('yes') : t('no')}>
        {!allowed && (
          <Text size="sm">
            {nextAllowedAt === null ? t('never') : t('from_', { time: time(nextAllowedAt) })}
          </Text>
        )}
      </Alert>
      <Rows
        label={t('checks')}
        rows={checks}
        idOf={({ id }) => id}
        columns={[
          { title: t('check'), cell: ({ type }) => type.replaceAll('_', ' ') },
          {
            title: t('outcome'),
            cell: ({ outcome }) => <Word color={COLOURS[outcome] ?? 'gray'}>{outcome}</Word>,
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
