import { Button, Group, Modal, NativeSelect, Stack, Switch, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateSandboxInboundCallBody } from '../../../../clients/typescript/generated/types.js'
import type { Item } from '../api.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { useKey, useSession } from '../session.js'

type NumberView = Item<'listNumbers'>
type Persona = NonNullable<CreateSandboxInboundCallBody['persona']>

const PERSONAS: readonly Persona[] = [
  'polite',
  'interrupts',
  'silent',
  'presses_digits',
  'wants_person',
  'no_more_calls',
  'talks_forever',
  'media_dies',
]
const CALLER = '+919812345678'

/** Lists numbers and what answers them. In the test environment a simulated caller can call them. */
export function Numbers() {
  const t = useTranslations('numbers')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const [edited, setEdited] = useState<NumberView | null>(null)
  const [called, setCalled] = useState<NumberView | null>(null)
  const numbers = useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
  const agents = useAgents()
  return (
    <Page title={t('title')}>
      <Loaded query={numbers} height={300}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: t('number'), cell: ({ e164 }) => e164 },
                { title: t('label'), cell: ({ label }) => label },
                {
                  title: t('answers'),
                  cell: ({ agentId, routingMode, mediaEndpoint }) =>
                    routingMode === 'svc_agent'
                      ? (agents.find(({ id }) => id === agentId)?.name ?? t('nobody'))
                      : (mediaEndpoint?.url ?? routingMode),
                },
                {
                  title: '',
                  align: 'right',
                  cell: (number) =>
                    canWrite && (
                      <Group gap="xs" justify="flex-end" wrap="nowrap">
                        {environment === 'test' && number.agentId !== null && (
                          <Button size="xs" variant="default" onClick={() => setCalled(number)}>
                            {t('callIn')}
                          </Button>
                        )}
                        <Button size="xs" variant="default" onClick={() => setEdited(number)}>
                          {t('edit', { number: number.e164 })}
                        </Button>
                      </Group>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {edited !== null && <EditNumber number={edited} close={() => setEdited(null)} />}
      {called !== null && <CallIn number={called} close={() => setCalled(null)} />}
    </Page>
  )
}

function useAgents() {
  const { api } = useSession()
  const key = useKey()
  const agents = useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
  return agents.data?.items ?? []
}

function EditNumber({ number, close }: { readonly number: NumberView; readonly close: () => void }) {
  const t = useTranslations('numbers')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const agents = useAgents()
  const [label, setLabel] = useState(number.label)
  const [agentId, setAgentId] = useState(number.agentId ?? '')
  const [recordCalls, setRecordCalls] = useState(number.recordCalls)
  const save = useMutation({
    mutationFn: () =>
      api.updateNumber({
        id: number.id,
        body: {
          label,
          recordCalls,
          ...(number.routingMode === 'svc_agent' ? { agentId: agentId === '' ? null : agentId } : {}),
        },
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: key() })
      close()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Modal
      opened
      onClose={close}
      title={t('edit', { number: number.e164 })}
      closeButtonProps={{ 'aria-label': tCommon('cancel') }}
    >
      <form onSubmit={submit}>
        <Stack>
          {save.error !== null && <Problem error={save.error} />}
          <TextInput
            label={t('label')}
            value={label}
            onChange={({ currentTarget }) => setLabel(currentTarget.value)}
          />
          {number.routingMode === 'svc_agent' && (
            <NativeSelect
              label={t('answers')}
              value={agentId}
              onChange={({ currentTarget }) => setAgentId(currentTarget.value)}
              data={[
                { value: '', label: t('nobody') },
                ...agents.map(({ id, name }) => ({ value: id, label: name })),
              ]}
            />
          )}
          <Switch
            label={t('record')}
            checked={recordCalls}
            onChange={({ currentTarget }) => setRecordCalls(currentTarget.checked)}
          />
          <Button type="submit" loading={save.isPending}>
            {tCommon('save')}
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}

function CallIn({ number, close }: { readonly number: NumberView; readonly close: () => void }) {
  const t = useTranslations('numbers')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const [persona, setPersona] = useState<Persona>('polite')
  const call = useMutation({
    mutationFn: () => api.createSandboxInboundCall({ body: { numberId: number.id, from: CALLER, persona } }),
    onSuccess: ({ callId }) =>
      void navigate({ to: '/$environment/calls/$id', params: { environment, id: callId } }),
  })
  return (
    <Modal
      opened
      onClose={close}
      title={t('callInTitle', { number: number.e164 })}
      closeButtonProps={{ 'aria-label': tCommon('cancel') }}
    >
      <Stack>
        {call.error !== null && <Problem error={call.error} />}
        <NativeSelect
          label={t('persona')}
          value={persona}
          onChange={({ currentTarget }) => setPersona(currentTarget.value as Persona)}
          data={PERSONAS.map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
        />
        <Button onClick={() => call.mutate()} loading={call.isPending}>
          {t('call')}
        </Button>
      </Stack>
    </Modal>
  )
}
