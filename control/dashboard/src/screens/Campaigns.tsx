import { Button, Modal, NativeSelect, NumberInput, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

const LIVE_MS = 5_000

/** Lists campaigns with their progress. */
export function Campaigns() {
  const t = useTranslations('campaigns')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const [creating, setCreating] = useState(false)
  const campaigns = useQuery({
    queryKey: key('campaigns'),
    queryFn: () => api.listCampaigns({ query: { limit: 100 } }),
    refetchInterval: LIVE_MS,
  })
  return (
    <Page
      title={t('title')}
      actions={canWrite && <Button onClick={() => setCreating(true)}>{t('new')}</Button>}
    >
      <Loaded query={campaigns} height={300}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                {
                  title: t('name'),
                  cell: ({ id, name }) => (
                    <Link to="/$environment/campaigns/$id" params={{ environment, id }}>
                      {name}
                    </Link>
                  ),
                },
                { title: t('state'), cell: ({ status }) => <Word color="gray">{status}</Word> },
                {
                  title: t('settled'),
                  align: 'right',
                  cell: ({ progress: { settled, total } }) => `${settled} / ${total}`,
                },
              ]}
            />
          )
        }
      </Loaded>
      {creating && <NewCampaign close={() => setCreating(false)} />}
    </Page>
  )
}

function NewCampaign({ close }: { readonly close: () => void }) {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const key = useKey()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [agentId, setAgentId] = useState('')
  const [numberId, setNumberId] = useState('')
  const [callsPerMinute, setCallsPerMinute] = useState(10)
  const agents = useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
  const numbers = useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
  const published = agents.data?.items.filter(({ publishedVersion }) => publishedVersion !== null) ?? []
  const body = {
    name,
    agentId: agentId || (published[0]?.id ?? ''),
    numberId: numberId || (numbers.data?.items[0]?.id ?? ''),
    pacing: { callsPerMinute },
  }
  const create = useMutation({
    mutationFn: () => api.createCampaign({ body }),
    onSuccess: ({ id }) => void navigate({ to: '/$environment/campaigns/$id', params: { environment, id } }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Modal opened onClose={close} title={t('new')} closeButtonProps={{ 'aria-label': tCommon('close') }}>
      <form onSubmit={submit}>
        <Stack>
          {create.error !== null && <Problem error={create.error} />}
          <TextInput
            label={t('name')}
            required
            maxLength={120}
            data-autofocus
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <NativeSelect
            label={t('agent')}
            value={body.agentId}
            onChange={({ currentTarget }) => setAgentId(currentTarget.value)}
            data={published.map(({ id, name: label }) => ({ value: id, label }))}
          />
          <NativeSelect
            label={t('from')}
            value={body.numberId}
            onChange={({ currentTarget }) => setNumberId(currentTarget.value)}
            data={numbers.data?.items.map(({ id, e164 }) => ({ value: id, label: e164 })) ?? []}
          />
          <NumberInput
            label={t('pace')}
            min={1}
            value={callsPerMinute}
            onChange={(value) => setCallsPerMinute(Number(value))}
          />
          <Button type="submit" loading={create.isPending}>
            {tCommon('create')}
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}
