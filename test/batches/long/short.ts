/**
 * What is shorter, and fills what is left: commands and gateways that nobody kills, and whatever asks for a
 * page or a code again and again.
 */
import { together } from '../../support/together.ts'

together(
  'test/web/**/@(brand-looks|reference).long.ts',
  'test/security/*.long.ts',
  'bench/**/*.long.ts',
  'test/cli/@(command-line|webhook-cli).test.ts',
  'test/operating/@(npm|start).test.ts',
  'test/security/@(logs|wrong-codes).test.ts',
  'test/web/console/operation.test.ts',
)
