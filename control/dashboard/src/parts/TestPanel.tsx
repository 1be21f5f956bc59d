import { Card, NativeSelect, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useKey, useSession } from '../session.js'
import { CallState } from './CallState.js'
import { Transcript } from './Conversation.js'
import { Form } from './Dialog.js'
import { useNumbers } from './lookups.js'
import { Loaded } from './Page.js'
import { PersonaInput, useTestCall } from './TestCall.js'

const LIVE_MS = 1_500

/** A simulated caller beside the instructions: shows what the published version says, while it says it. */
export function TestPanel(props: { readonly agentId: string; readonly version: number | null }) {
  const t = useTranslations('testPanel')
  const { agentId, version } = props
  const { environment } = useSession()
  const numbers = useNumbers()?.filter((number) => number.agentId === agentId) ?? null
  const [chosen, setChosen] = useState('')
  const [callId, setCallId] = useState<string | null>(null)
  const numberId = chosen || (numbers?.[0]?.id ?? '')
  const { form, call } = useTestCall(numberId, setCallId)
  if (environment !== 'test') return null
  return (
    <Card withBorder component="section" aria-label={t('title')}>
      <Stack>
        <Title order={2} size="h4">
          {t('title')}
        </Title>
        <Text size="sm">{version === null ? t('unpublished') : t('hint', { version })}</Text>
        {version !== null && numbers?.length === 0 && (
          <Link to="/$environment/numbers" params={{ environment }}>
            {t('noNumber')}
          </Link>
        )}
        {version !== null && numbers !== null && numbers.length > 0 && (
          <Form action={call} submit={t('start')}>
            {numbers.length > 1 && (
              <NativeSelect
                label={t('number')}
                value={numberId}
                onChange={({ currentTarget }) => setChosen(currentTarget.value)}
                data={numbers.map(({ id, e164 }) => ({ value: id, label: e164 }))}
              />
            )}
            <PersonaInput {...form.text('persona')} />
          </Form>
        )}
        {callId !== null && <Heard id={callId} />}
      </Stack>
    </Card>
  )
}

/** Shows the words of a call while they are said. */
export function Heard({ id }: { readonly id: string }) {
  const t = useTranslations('testPanel')
  const { api, environment } = useSession()
  const key = useKey()
  const call = useQuery({
    queryKey: key('call', id),
    queryFn: () => api.readCall({ id }),
    refetchInterval: ({ state: { data } }) => (data?.status === 'ended' ? false : LIVE_MS),
  })
  return (
    <Loaded query={call} height={160}>
      {(data) => (
        <Stack gap="xs">
          <div>
            <CallState {...data} />{' '}
            <Link to="/$environment/calls/$id" params={{ environment, id }}>
              {t('open')}
            </Link>
          </div>
          <Transcript call={data} />
        </Stack>
      )}
    </Loaded>
  )
}
