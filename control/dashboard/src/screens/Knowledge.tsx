import { Button, Textarea, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists knowledge bases. */
export function Knowledge() {
  const t = useTranslations('knowledge')
  const { api, canWrite, environment } = useSession()
  const { count, size } = useFormat()
  const [creating, setCreating] = useState(false)
  const bases = useList(['knowledge'], (cursor) => api.listKnowledgeBases({ query: { cursor } }))
  return (
    <Page
      title={t('title')}
      actions={canWrite && <Button onClick={() => setCreating(true)}>{t('new')}</Button>}
    >
      <List query={bases} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('base'),
                cell: ({ id, name }) => (
                  <Link to="/$environment/knowledge/$id" params={{ environment, id }}>
                    {name}
                  </Link>
                ),
              },
              { title: t('state'), cell: ({ status }) => <State value={status} /> },
              { title: t('documents'), align: 'right', cell: ({ docCount }) => count(docCount) },
              { title: t('size'), align: 'right', cell: ({ totalBytes }) => size(totalBytes) },
              { title: t('agents'), align: 'right', cell: ({ agentCount }) => count(agentCount) },
            ]}
          />
        )}
      </List>
      {creating && <NewBase close={() => setCreating(false)} />}
    </Page>
  )
}

function NewBase({ close }: { readonly close: () => void }) {
  const t = useTranslations('knowledge')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const form = useFields({ name: '', description: '' })
  const { name, description } = form.values
  const create = useAction(
    () => api.createKnowledgeBase({ body: { name, description: description === '' ? null : description } }),
    ({ id }) => void navigate({ to: '/$environment/knowledge/$id', params: { environment, id } }),
  )
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('create')}>
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
      <Textarea label={t('description')} maxLength={500} autosize {...form.text('description')} />
    </FormDialog>
  )
}
