import { Button, NativeSelect, NumberInput, Progress, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { useAgents, useNumbers } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists campaigns with their progress. */
export function Campaigns() {
  const t = useTranslations('campaigns')
  const { api, canWrite, environment } = useSession()
  const { count } = useFormat()
  const [creating, setCreating] = useState(false)
  const campaigns = useList(['campaigns'], (cursor) => api.listCampaigns({ query: { cursor } }))
  return (
    <Page
      title={t('title')}
      actions={canWrite && <Button onClick={() => setCreating(true)}>{t('new')}</Button>}
    >
      <List query={campaigns} empty={t('empty')}>
        {(items) => (
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
              { title: t('state'), cell: ({ status }) => <State value={status} /> },
              {
                title: t('settled'),
                align: 'right',
                cell: ({ progress: { settled, total } }) => (
                  <>
                    {count(settled)} / {count(total)}
                    <Progress value={total === 0 ? 0 : (100 * settled) / total} aria-label={t('settled')} />
                  </>
                ),
              },
            ]}
          />
        )}
      </List>
      {creating && <NewCampaign close={() => setCreating(false)} />}
    </Page>
  )
}

function NewCampaign({ close }: { readonly close: () => void }) {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const form = useFields({ name: '', agent: '', number: '', callsPerMinute: 10 })
  const numbers = useNumbers() ?? []
  const published = useAgents()?.filter(({ publishedVersion }) => publishedVersion !== null) ?? []
  const { name, agent, number, callsPerMinute } = form.values
  const agentId = agent || (published[0]?.id ?? '')
  const numberId = number || (numbers[0]?.id ?? '')
  const create = useAction(
    () => api.createCampaign({ body: { name, agentId, numberId, pacing: { callsPerMinute } } }),
    ({ id }) => void navigate({ to: '/$environment/campaigns/$id', params: { environment, id } }),
  )
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('create')}>
      <TextInput label={t('name')} required maxLength={120} data-autofocus {...form.text('name')} />
      <NativeSelect
        label={t('agent')}
        {...form.text('agent')}
        value={agentId}
        data={published.map(({ id, name: label }) => ({ value: id, label }))}
      />
      <NativeSelect
        label={t('from')}
        {...form.text('number')}
        value={numberId}
        data={numbers.map(({ id, e164 }) => ({ value: id, label: e164 }))}
      />
      <NumberInput label={t('pace')} min={1} {...form.number('callsPerMinute')} />
    </FormDialog>
  )
}
