import { together } from '../support/together.ts'

together(
  'test/cli/!(command-line|webhook-cli).test.ts',
  'test/operating/!(doctor|memory|npm|processes|start|traces).test.ts',
)
