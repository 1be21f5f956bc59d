import { Alert, Button, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Checks } from '../parts/Checks.js'
import { useFields } from '../parts/fields.js'
import { useAgentsQuery, useNumbersQuery } from '../parts/lookups.js'
import { Failures, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { useReason, useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

type Verdict = Result<'checkCompliance'>

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
type Purpose = (typeof PURPOSES)[number]

/** Answers one question: may this number be called, and if not, why and when? */
export function Compliance() {
  const t = useTranslations('compliance')
  const { api, canWrite } = useSession()
  const form = useFields({
    e164: '+91',
    purpose: 'transactional' as string,
    numberId: '',
    agentId: '',
    at: '',
  })
  const { e164, numberId, agentId, at } = form.values
  const purpose = form.values.purpose as Purpose | ''
  const numbersQuery = useNumbersQuery()
  const agentsQuery = useAgentsQuery()
  const numbers = numbersQuery.data?.items ?? []
  const agents = agentsQuery.data?.items ?? []
  const check = useMutation({
    mutationFn: async () => {
      const verdict = await api.checkCompliance({
        body: {
          e164,
          ...(purpose === '' ? {} : { purpose }),
          ...(numberId === '' ? {} : { numberId }),
          ...(agentId === '' ? {} : { agentId }),
          // Calling hours count in Indian time.
          ...(at === '' ? {} : { at: `${at}:00+05:30` }),
        },
      })
      return { verdict, e164 }
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    check.mutate()
  }
  return (
    <Page title={t('title')}>
      {!canWrite && <Alert>{t('viewer')}</Alert>}
      <Failures queries={[agentsQuery, numbersQuery]} />
      <form onSubmit={submit}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
            <TextInput label={t('number')} type="tel" required {...form.text('e164')} />
            <NativeSelect
              label={t('purpose')}
              {...form.text('purpose')}
              data={[
                { value: '', label: t('ofAgent') },
                ...PURPOSES.map((value) => ({ value, label: t(value) })),
              ]}
            />
            <NativeSelect
              label={t('agent')}
              {...form.text('agentId')}
              data={[
                { value: '', label: t('anyAgent') },
                ...agents.map(({ id, name }) => ({ value: id, label: name })),
              ]}
            />
            <NativeSelect
              label={t('from')}
              {...form.text('numberId')}
              data={[
                { value: '', label: t('anyNumber') },
                ...numbers.map(({ id, e164: from }) => ({ value: id, label: from })),
              ]}
            />
            <TextInput label={t('at')} type="datetime-local" {...form.text('at')} />
          </SimpleGrid>
          {canWrite && (
            <div>
              <Button type="submit" loading={check.isPending}>
                {at === '' ? t('ask') : t('askAt')}
              </Button>
            </div>
          )}
        </Stack>
      </form>
      {check.error !== null && <Problem error={check.error} />}
      {check.data !== undefined && <Answer {...check.data} />}
    </Page>
  )
}

function Answer({ verdict, e164 }: { readonly verdict: Verdict; readonly e164: string }) {
  const t = useTranslations('compliance')
  const { environment } = useSession()
  const word = useWord()
  const reason = useReason()
  const { ist } = useFormat()
  const { allowed, checkType, nextAllowedAt, checks, undecided } = verdict
  const deciding = checks.find(({ type }) => type === checkType)
  return (
    <Stack role="status">
      <Alert
        className="verdict"
        color={!allowed ? 'red' : undecided.length > 0 ? 'yellow' : 'green'}
        title={allowed ? t('yes') : t('no')}
      >
        {!allowed && deciding !== undefined && (
          <Text size="sm">{t('because', { check: word(deciding.type), reason: reason(deciding) })}</Text>
        )}
        {!allowed && (
          <Text size="sm">
            {nextAllowedAt === null ? t('never') : t('from_', { time: ist(nextAllowedAt) })}
          </Text>
        )}
        {allowed && undecided.length > 0 && (
          <Text size="sm">{t('undecided', { checks: undecided.map((type) => word(type)).join(', ') })}</Text>
        )}
        <Link to="/$environment/people/$number" params={{ environment, number: e164 }}>
          {t('history', { number: e164 })}
        </Link>
      </Alert>
      <Checks checks={checks} />
    </Stack>
  )
}
