// The suite as a table, and its parser.
#include "kernels/measure/suite.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <sstream>

#include "kernels/kernel_table.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/presets.h"

namespace tilescope {

namespace {

// No shape is on both lists. "build" may be used while the model is developed. "judge" was drawn by
// `kernels/lab/draw_shapes.py 20261126` and is only looked at once the model is fixed. After that its shapes move to "build", and
// new ones are drawn.
constexpr std::string_view table = R"(
# kernel          B   H  Hkv    Nq     Nk   d  type  mask    list
flash2            1   1   1    128    128  64  fp16  full    build
flash2            1   8   8   1024   1024  64  fp16  full    build
flash2            2   8   8   1024   1024 128  fp16  causal  build
flash2            1   4   4   1000   1000  64  fp16  causal  build
flash2            1   3   3   1001   1001 128  bf16  full    build
flash2            8  16  16    512    512 128  fp16  full    build
flash2            4  32  32   2048   2048  64  bf16  causal  build
flash2            1  16  16   4096   4096 128  fp16  causal  build
flash2            1  16  16   4096   4096  64  fp16  full    build
flash2            1  32   8   4096   4096 128  fp16  full    build
flash2            1  16   2   1500   6000  64  bf16  causal  build
flash2            2   8   8   8192   8192 128  bf16  full    build
flash2            1   8   8  16384  16384  64  fp16  full    build
flash2            1   4   4  32768  32768 128  fp16  causal  build
flash2            1   2   2  65536  65536  64  fp16  full    build
flash2            1   2   2    256    256 128  fp16  full    build
flash2            4   8   8    640    640  64  bf16  full    build
flash2           16  16  16   1024   1024  64  fp16  full    build
flash2            8  16  16   2048   2048 128  fp16  full    build
flash2            1   7   7   2049   2049  64  fp16  causal  build
flash2            2  16   4   3000   3000 128  bf16  causal  build
flash2            4  32  32   4096   4096  64  fp16  causal  build
flash2            1  32   1   8192   8192 128  fp16  full    build
flash2            1  64  64    128   4096  64  bf16  full    build
flash2            2  16  16   8192   8192  64  fp16  causal  build
flash2            1  16  16  16384  16384 128  fp16  causal  build
flash2            1  12  12  12345  12345  64  fp16  full    build
flash2            1   4   4  65536  65536 128  bf16  full    build
flash2            1   3   3    320    320  64  bf16  causal  build
flash2            1   2   1   1285   3856  64  bf16  full    build
flash2            1   6   6    325    325 128  fp16  full    build
flash2            1  48  24   8648   8648 128  bf16  causal  build
flash2            1  24  12   3136   3136 128  bf16  causal  build
flash2            3  10  10   2305    576 128  fp16  full    build
flash2            1  40  40   2304   1152 128  fp16  full    build
flash2            4  32  32   4224   4224 128  fp16  causal  build
flash2            1  12   3  11456  11456 128  fp16  causal  build
flash2            2   2   2    340    340 128  fp16  full    build
flash2            3  20  10  39104   9776 128  bf16  full    build
flash2            1  20  20   4968   4968 128  bf16  full    build
flash2            1   4   4    256    256  64  bf16  causal  build
flash2            1  12   3    848    848  64  bf16  causal  build
flash2            2   1   1    448    448  64  bf16  full    build
flash2            3   4   1    448    448  64  bf16  causal  build
flash2            5   8   2    384    384  64  fp16  causal  build
flash2            4   4   2   5120   5120 128  bf16  causal  build
flash2            1  10  10   6528   6528 128  bf16  full    build
flash2            4  23  23   2255   2255 128  fp16  causal  build
flash2            5   4   1  38318  76636 128  bf16  causal  build
flash2            5   2   2    960    960 128  fp16  full    build
flash2            2  10  10    328    656  64  fp16  full    build
flash2            4  31  31   5338   5338 128  bf16  causal  build
flash2            6   2   1   8595   8595 128  fp16  full    build
flash2            3   1   1    246    246  64  fp16  full    build
flash2            2   8   8  14208  14208 128  bf16  causal  build
flash2            4   4   1  34917  34917 128  bf16  causal  build
flash2            1  11  11   2845   2845  64  bf16  full    build
flash2            3  36   9   2659   2659 128  bf16  causal  build
flash2            3  42  42  22040  22040 128  fp16  causal  build
flash2            3   2   1  18481  18481 128  fp16  full    build
flash2            1   8   2    939    939  64  bf16  causal  build
flash2            2   3   3   1600   3200 128  fp16  full    build
flash2            4  36   9  25088  25088  64  fp16  full    build
flash2            1  10   5   3880   3880  64  fp16  full    build
flash2            2  38  19    320    320  64  bf16  causal  build
flash2            5  12   3   6016   6016 128  bf16  full    build
flash2            1   8   8    709    709 128  fp16  causal  build
flash2            5   2   1   3072   3072  64  fp16  causal  build
flash2            1  28   7    256    256 128  fp16  full    build
flash2            5   4   1  29792  29792 128  bf16  causal  build
flash2            3   4   4  23139   5785  64  fp16  full    build
flash2            1   4   2   6260   6260  64  fp16  causal  build
flash2            6   4   1    251    251  64  bf16  full    build
flash2            3   5   5   1600   1600 128  bf16  full    build
flash2            4   2   2    258    258 128  bf16  causal  build
flash2            1   8   2   2802   2802 128  fp16  full    build
flash2            3  12   3  29632  29632  64  bf16  full    build
flash2            3   4   1   8064   8064 128  fp16  causal  build
flash2            2   2   2    192    192 128  fp16  full    build
flash2            5   4   2    640    640 128  fp16  causal  build
flash2            2  10   5   1088   1088 128  fp16  full    build
flash2            1  30  30   1700   3400 128  bf16  causal  build
flash2            3  14  14    315    630 128  fp16  causal  build
flash2            1  12   3  11453  11453 128  fp16  causal  build
flash2            3   4   1   7040   7040 128  fp16  full    build
flash2            3  31  31   1852    463 128  bf16  full    build
flash2            5   4   2  10905  10905  64  fp16  full    build
flash2            2  20  10  16000  16000 128  bf16  full    build
flash2            1   2   1    384    384 128  bf16  full    build
flash2            2   2   2   9841   9841  64  fp16  causal  build
flash2            1   4   1   2624   2624 128  bf16  full    build
flash2            4  29  29    228    228 128  fp16  causal  build
flash2            2  14  14   2692   2692 128  bf16  full    build
flash2            1   2   1  30516  30516  64  bf16  causal  build
flash2            1   4   2  31616  31616 128  bf16  full    build
flash2            1  32  16   1678   3356  64  bf16  causal  build
flash2            3  18  18   7424   7424  64  fp16  full    build
flash2            3  16   8   3648   3648  64  bf16  causal  build
flash2            3   4   1    192     64  64  bf16  full    build
flash2            5  12   6   2151   2151  64  fp16  full    build
flash2            2   4   2  25408   6352  64  bf16  full    build
flash2            4  16   4    802    802 128  bf16  causal  build
flash2            3   1   1   2048   2048 128  bf16  causal  build
flash2            4   8   4    364    364 128  fp16  causal  build
flash2            6   2   1  26048  26048 128  bf16  causal  build
flash2            2   4   1   1792   1792  64  fp16  full    build
flash2            4   2   1   3520   3520 128  fp16  full    build
flash2            2   1   1   6697   6697  64  fp16  causal  build
flash2            3   2   1   2624    656 128  bf16  full    build
flash2            1   4   4    256    256  64  bf16  full    build
flash2            2   4   1   3836   3836 128  bf16  full    build
flash2            1   4   4    200    200  64  bf16  full    build
flash2            2   2   1    227    454  64  bf16  causal  judge
flash2            3   4   2   3456   3456 128  fp16  causal  judge
flash2            4   4   1    287    287 128  bf16  causal  judge
flash2            1   2   1   1728   1728 128  bf16  causal  judge
flash2            1   5   5  10652  10652 128  fp16  causal  judge
flash2            3   4   2   4760   4760 128  fp16  full    judge
flash2            6  20  10   1856   1856 128  bf16  causal  judge
flash2            4   2   1  12800  12800  64  fp16  causal  judge
flash2            4   8   2    192    192 128  fp16  causal  judge
flash2            5   2   1  12367  12367  64  bf16  causal  judge
flash2            1  18   9  32896  32896  64  fp16  full    judge
flash2            1   2   1  15552  15552  64  fp16  full    judge
flash2            2   2   1    274    274 128  fp16  full    judge
flash2            4  22  11   1984   1984  64  bf16  full    judge
flex              1   8   8   1024   1024  64  fp16  full    build
flex              1   8   8   1024   1024  64  fp16  causal  build
flex              2  16  16   8192   8192  64  fp16  causal  build
flex              2  16  16   8192   8192 128  fp16  causal  build
flex              2  16  16   8192   8192 128  bf16  full    build
flex              1  16   4   1000   3000  64  bf16  causal  build
flex              1  12   3   5001   5001 128  fp16  causal  build
flex              4   8   2    207    207 128  bf16  full    judge
flex              3  32   8    704    704  64  fp16  causal  judge
flex              2   4   1   6400   6400  64  fp16  causal  judge
flex              3  32   8   1719   1719 128  bf16  causal  judge
flex              3   8   2   1088   1088  64  fp16  full    judge
standard          1   4   4    128    128  64  fp16  full    build
standard          1   8   8   1024   1024  64  fp16  full    build
standard          1   4   4   1000   1000 128  bf16  causal  build
standard          4  16  16   1024   1024 128  fp16  full    build
standard          1  16  16   4096   4096  64  fp16  full    build
standard          1   4   4   8192   8192 128  fp16  causal  build
standard          1   1   1  32768  32768  64  fp16  full    build
standard          1   8   8    512    512 128  fp16  full    build
standard          2   4   4   2000   2000  64  bf16  full    build
standard          1  16   4   2048   2048 128  fp16  causal  build
standard          2  16  16   4096   4096 128  fp16  full    build
standard          1   2   2  16384  16384  64  fp16  causal  build
standard          1   1   1  65536  65536 128  fp16  full    build
standard          1  32  32    214    214 128  bf16  full    build
standard          2  32   8    256    512 128  fp16  causal  build
standard          1   6   6    584    584  64  bf16  causal  build
standard          3  48  48    256    256  64  fp16  causal  build
standard          6  20  10    448    448  64  bf16  causal  build
standard          1  12   6  10079  10079 128  fp16  causal  build
standard          1   8   4   1967   1967 128  bf16  causal  build
standard          2  30  30   1216   2432  64  fp16  causal  build
standard          2   8   2    512    512 128  fp16  full    build
standard          6  24  12    320    320 128  fp16  full    build
standard          2   3   3   4800   4800 128  bf16  full    build
standard          4   1   1   1305   1305  64  bf16  causal  build
standard          2   7   7   5696   5696 128  bf16  causal  build
standard          4  12   6    729    729  64  bf16  causal  build
standard          5   6   6   4903   4903  64  bf16  full    build
standard          2  32   8   1365   1365  64  bf16  full    build
standard          2  40  20    448    448 128  bf16  causal  build
standard          2  16  16   3736   3736 128  fp16  causal  build
standard          3   1   1   1088   1088 128  fp16  causal  build
standard          2  13  13    488    488 128  fp16  full    build
standard          2   2   1   8000   4000 128  bf16  full    build
standard          3   2   1    615    615  64  bf16  full    build
standard          5   4   1   6720   6720 128  bf16  full    build
standard          3  16  16    704    704  64  bf16  causal  build
standard          5   2   2   5520   5520  64  bf16  causal  build
standard          6   8   2    986    986 128  fp16  full    build
standard          3   6   3   2640   2640  64  fp16  causal  build
standard          2   5   5   1216   1216 128  bf16  full    build
standard          2   9   9   2242   2242  64  fp16  causal  build
standard          1   1   1   3328   3328 128  fp16  causal  build
standard          3   2   2    587    587  64  fp16  full    build
standard          2   8   8   6922  13844 128  fp16  full    build
standard          2  18  18    192    192 128  bf16  full    build
standard          4  18   9   1536   1536  64  bf16  full    build
standard          4   4   4    192    192 128  bf16  full    build
standard          3   4   1    238    238 128  bf16  full    build
standard          2  16   4    392    784  64  bf16  full    build
standard          2  13  13   1186   1186 128  fp16  full    build
standard          3   6   3    205    205  64  bf16  causal  build
standard          5   4   4    363    363  64  bf16  full    build
standard          2   2   2   5163   5163 128  fp16  full    build
standard          1  41  41   2940   8820  64  fp16  full    build
standard          1  11  11   1344   1344  64  fp16  full    judge
standard          1  32   8   1856   1856 128  fp16  causal  judge
standard          4   3   3   9152   9152 128  fp16  full    judge
standard          1  12  12    768    768  64  bf16  causal  judge
standard          2   4   1    390    390 128  bf16  full    judge
standard          5   4   1   2951   2951  64  fp16  causal  judge
standard          3   4   2  11096  11096 128  fp16  full    judge
standard_cublas   1   8   8   1024   1024  64  fp16  full    build
standard_cublas   4  16  16   1024   1024 128  fp16  full    build
standard_cublas   1  16  16   4096   4096  64  fp16  causal  build
standard_cublas   1   1   1  32768  32768  64  fp16  full    build
standard_cublas   1   8   8    512    512 128  fp16  full    build
standard_cublas   2  16  16   4096   4096 128  fp16  full    build
standard_cublas   1   2   2  16384  16384  64  fp16  causal  build
standard_cublas   4   6   6    489    489  64  fp16  causal  build
standard_cublas   1  24  24   1728   1728 128  bf16  full    build
standard_cublas   1  10  10    538    538 128  fp16  causal  build
standard_cublas   2  16   4   1509   3018 128  bf16  full    build
standard_cublas   3   6   3    770    770  64  bf16  causal  build
standard_cublas   1   6   6   4288   4288  64  bf16  full    build
standard_cublas   4   4   1   9920   9920  64  bf16  causal  build
standard_cublas   4   1   1   1216   1216  64  bf16  full    build
standard_cublas   3   4   1   8133   8133  64  fp16  full    build
standard_cublas   4  14  14   1024   1024 128  fp16  causal  build
standard_cublas   5   8   4   1016   2032 128  bf16  full    build
standard_cublas   1   2   1   2715   1358 128  fp16  full    build
standard_cublas   1   2   1   3072   3072 128  bf16  causal  build
standard_cublas   2   8   8    576    576 128  fp16  causal  build
standard_cublas   2  15  15    225    225  64  bf16  full    build
standard_cublas   6   3   3    384   1152 128  bf16  causal  build
standard_cublas   2   4   2   4186   4186 128  fp16  full    build
standard_cublas   1   2   2   1747    874 128  fp16  full    build
standard_cublas   4   1   1   4544   4544  64  fp16  causal  judge
standard_cublas   1  16   8   8960   8960 128  bf16  full    judge
standard_cublas   2  10  10   3968   3968 128  fp16  causal  judge
flash1            1   4   4    128    128  64  fp16  full    build
flash1            4  33  33    512    512  64  fp16  full    build
flash1            1  16  16   1024   1024 128  bf16  causal  build
flash1            2  66  66   1000   1000  64  fp16  full    build
flash1            1  32   8   4096   4096  64  fp16  full    build
flash1            2   8   8    640    640 128  fp16  full    build
flash1            8  16  16   1024   1024  64  bf16  causal  build
flash1            1  16  16   2048   2048 128  fp16  full    build
flash1            1   8   8   8192   8192  64  fp16  causal  build
flash1            1   6   6   5504  16512 128  bf16  causal  build
flash1            2   1   1   5184   5184 128  fp16  causal  build
flash1            3  48  48    223    223 128  bf16  full    build
flash1            1  32   8   1280   1280 128  fp16  full    build
flash1            2   5   5    192    192  64  bf16  causal  build
flash1            1   6   3    192    192  64  fp16  full    build
flash1            5  20   5    746    746 128  bf16  causal  build
flash1            2  44  11   3468   3468  64  bf16  causal  build
flash1            2   1   1    512    512 128  bf16  full    build
flash1            3   4   1    576    576  64  fp16  causal  build
flash1            4   3   3    605    605  64  fp16  causal  build
flash1            1  12   3    576    576  64  fp16  full    build
flash1            2  42  42    896    896 128  bf16  causal  build
flash1            3   3   3    192    192  64  fp16  full    build
flash1            6   2   1   2432   2432 128  bf16  full    build
flash1            3  14  14    373    373 128  fp16  causal  build
flash1            5  16   4   1600   1600  64  fp16  full    build
flash1            1  16   4    304    304  64  fp16  full    build
flash1            2  12   3    240    240  64  bf16  causal  build
flash1            2  26  13    517    517  64  bf16  full    build
flash1            3  31  31   1545   1545 128  fp16  causal  build
flash1            4  22  22    542   1084  64  fp16  full    build
flash1            3   1   1   1034   1034 128  bf16  causal  build
flash1            2  24  12   2880   2880 128  fp16  causal  build
flash1            3   8   4   4005   4005 128  fp16  causal  build
flash1            1  10  10    652    652  64  fp16  causal  build
flash1            2   2   2   2350   2350 128  bf16  causal  build
flash1            6   2   1   3537   3537 128  bf16  full    build
flash1            1   6   6    513    513 128  bf16  causal  build
flash1            2  20  10    448    448 128  bf16  full    build
flash1            1  45  45    384    384  64  bf16  full    build
flash1            5  43  43   1814   1814 128  fp16  causal  build
flash1            2   4   1    941    941 128  bf16  full    build
flash1            3   7   7    320    320 128  bf16  full    build
flash1            3  22  22   1543   1543  64  bf16  full    build
flash1            2  24   6   2941   2941  64  fp16  causal  build
flash1            2  27  27    515    515 128  fp16  full    judge
flash1            2   2   2    192    384  64  fp16  causal  judge
flash1            6   8   4   2312   2312 128  bf16  causal  judge
flash1            1  34  17   3441   3441 128  fp16  full    judge
flash1            3  17  17   1536    384 128  fp16  full    judge
flash1            6  12   3    640    640 128  bf16  causal  judge
softmax_safe      1   4   4    256    256  64  fp16  full    build
softmax_safe      1   8   8   1024   1024  64  fp16  full    build
softmax_safe      1   4   4   1000   1000  64  bf16  full    build
softmax_safe      1   2   2   8192   8192  64  fp16  full    build
softmax_safe      2   4   4   2000   2000  64  fp16  full    build
softmax_safe      1  16  16   4096   4096  64  fp16  full    build
softmax_safe      1   4   4    768   2304  64  fp16  full    build
softmax_safe      4  10  10    256    256  64  bf16  full    build
softmax_safe      1   2   2   2108   2108 128  bf16  full    build
softmax_safe      6   6   6   2944   2944  64  bf16  full    build
softmax_safe      2  32  32    320    320  64  bf16  full    build
softmax_safe      1  35  35   1088   1088  64  fp16  full    build
softmax_safe      2  18  18    256    256  64  bf16  full    build
softmax_safe      4   7   7   1616    808 128  bf16  full    build
softmax_safe      6   5   5   4928   4928 128  bf16  full    build
softmax_safe      3   2   2    192    192 128  fp16  full    build
softmax_safe      2   1   1    265    265 128  fp16  full    build
softmax_safe      1   6   6   2819   2819 128  fp16  full    build
softmax_safe      1   1   1   3348   3348 128  fp16  full    build
softmax_safe      5  13  13   2996   2996 128  fp16  full    build
softmax_safe      4   3   3   4992   4992 128  bf16  full    build
softmax_safe      6   5   5   1792   1792  64  fp16  full    build
softmax_safe      2   2   2    825   1650 128  fp16  full    build
softmax_safe      5  21  21    453    453  64  fp16  full    build
softmax_safe      2   2   2    306    306 128  fp16  full    build
softmax_safe      4  31  31    576    576  64  fp16  full    build
softmax_safe      6   7   7    448    448 128  bf16  full    build
softmax_safe      2   3   3   4169   4169 128  fp16  full    build
softmax_safe      2   4   4   4932   1233 128  bf16  full    build
softmax_safe      1  13  13   5632   5632 128  bf16  full    build
softmax_safe      1   7   7    896    896 128  bf16  full    judge
softmax_safe      2  20  20   3136    784 128  fp16  full    judge
softmax_safe      2  48  48   1024   1024  64  fp16  full    judge
softmax_safe      3  10  10    501   1002 128  fp16  full    judge
softmax_online    1   4   4    256    256  64  fp16  full    build
softmax_online    1   8   8   1024   1024  64  fp16  full    build
softmax_online    1   4   4   1000   1000  64  bf16  full    build
softmax_online    1   2   2   8192   8192  64  fp16  full    build
softmax_online    2   4   4   2000   2000  64  fp16  full    build
softmax_online    1  16  16   4096   4096  64  fp16  full    build
softmax_online    2   5   5    576    144 128  bf16  full    build
softmax_online    2  16  16    283    283 128  bf16  full    build
softmax_online    4   1   1   1472   1472 128  bf16  full    build
softmax_online    1   4   4   5568   5568  64  fp16  full    build
softmax_online    5   3   3   2816   5632 128  fp16  full    build
softmax_online    4   7   7   1920   5760 128  bf16  full    build
softmax_online    3  11  11   1152   2304 128  fp16  full    build
softmax_online    3   2   2    409    409  64  fp16  full    build
softmax_online    4   6   6   1152   3456  64  bf16  full    build
softmax_online    2   3   3    283    283  64  bf16  full    build
softmax_online    1   5   5    224    224 128  fp16  full    build
softmax_online    1  24  24   2112    528 128  fp16  full    build
softmax_online    1  42  42   3968   3968 128  fp16  full    build
softmax_online    4   9   9   1536   1536  64  fp16  full    build
softmax_online    3   2   2   4032   4032  64  fp16  full    build
softmax_online    1  27  27    298    298  64  fp16  full    build
softmax_online    3   2   2    545    545  64  fp16  full    build
softmax_online    4  42  42    892    892 128  fp16  full    build
softmax_online    3   1   1   2917   2917  64  fp16  full    build
softmax_online    2  11  11   3648   3648  64  fp16  full    build
softmax_online    2  30  30   1664   1664  64  bf16  full    build
softmax_online    2   1   1   1088   1088  64  fp16  full    build
softmax_online    1  22  22    512   1024  64  bf16  full    build
softmax_online    3  19  19    832    208 128  bf16  full    build
softmax_online    4   5   5    256    256 128  fp16  full    judge
softmax_online    3  24  24   1034   1034 128  bf16  full    judge
softmax_online    1  24  24   5056  15168  64  fp16  full    judge
softmax_online    2   8   8    838    838 128  fp16  full    judge
softmax_fused     1   4   4    256    256  64  fp16  full    build
softmax_fused     1   8   8   1024   1024  64  fp16  full    build
softmax_fused     2   8   8   1024   1024 128  bf16  full    build
softmax_fused     1   3   3   1001   1001 128  fp16  full    build
softmax_fused     1   4   4   4096   4096  64  fp16  full    build
softmax_fused     1  20  20    256    256  64  fp16  full    build
softmax_fused     1  40  40    384    384 128  bf16  full    build
softmax_fused     3   4   4    543    543 128  fp16  full    build
softmax_fused     1   4   4    323    323 128  fp16  full    build
softmax_fused     5   2   2    512    512  64  bf16  full    build
softmax_fused     5  13  13   3159   3159 128  fp16  full    build
softmax_fused     5   2   2   2886    722 128  bf16  full    build
softmax_fused     2   3   3   1536   1536 128  fp16  full    build
softmax_fused     1   2   2   3968   3968  64  bf16  full    build
softmax_fused     1  26  26    320    320 128  fp16  full    build
softmax_fused     1  32  32   1258   1258  64  bf16  full    build
softmax_fused     2   2   2   4032   4032  64  fp16  full    build
softmax_fused     1   1   1    320    320 128  fp16  full    build
softmax_fused     1  11  11    449    449 128  fp16  full    build
softmax_fused     2  11  11    248    248 128  bf16  full    build
softmax_fused     1   5   5   3418   3418  64  fp16  full    build
softmax_fused     1  43  43   1408    352 128  bf16  full    build
softmax_fused     1  11  11    320    320 128  bf16  full    build
softmax_fused     3  35  35   1280   1280  64  bf16  full    build
softmax_fused     3   1   1   2265   6795  64  bf16  full    build
softmax_fused     5  33  33    256    128  64  bf16  full    build
softmax_fused     3   7   7    987    987 128  bf16  full    build
softmax_fused     4   1   1   2752   2752 128  fp16  full    build
softmax_fused     1  37  37    704    176  64  bf16  full    build
softmax_fused     5  21  21    193    193  64  fp16  full    judge
softmax_fused     1   3   3    376    376 128  bf16  full    judge
softmax_fused     6   9   9    423    423 128  bf16  full    judge
softmax_fused     2   2   2   2256   2256  64  bf16  full    judge
matmul_naive      1   4   4    256    256  64  fp16  full    build
matmul_naive      1   8   8   1024   1024  64  fp16  full    build
matmul_naive      2   2   2   1009   1009  64  bf16  full    build
matmul_naive      1   8   8   1024   1024 128  fp16  full    build
matmul_naive      1   4   4   2048   2048  64  fp16  full    build
matmul_naive      6   8   8   1395    352  64  bf16  full    build
matmul_naive      4   6   6    512    256 128  fp16  full    build
matmul_naive      2   4   4   1856   1856  64  bf16  full    build
matmul_naive      2   2   2    265    265 128  bf16  full    build
matmul_naive      3   7   7    960    960  64  bf16  full    build
matmul_naive      2  18  18   1664   3328  64  bf16  full    build
matmul_naive      2   4   4    196    196  64  bf16  full    build
matmul_naive      4   3   3    256    768 128  fp16  full    build
matmul_naive      5  10  10   1527   1527 128  fp16  full    build
matmul_naive      4   2   2    192    192  64  bf16  full    build
matmul_naive      5  12  12    404   1212  64  fp16  full    build
matmul_naive      5   4   4    420   1260 128  bf16  full    build
matmul_naive      6  18  18    576    288 128  bf16  full    build
matmul_naive      1  15  15    365    365 128  fp16  full    build
matmul_naive      1   1   1    640    320 128  fp16  full    build
matmul_naive      5   1   1   1053    263 128  fp16  full    build
matmul_naive      1   2   2    704    704 128  bf16  full    build
matmul_naive      6  33  33    192    192  64  bf16  full    build
matmul_naive      1   1   1    768    768  64  bf16  full    build
matmul_naive      2  43  43    896    896  64  fp16  full    build
matmul_naive      3  12  12   1344   1344  64  fp16  full    build
matmul_naive      1   7   7    512   1536  64  bf16  full    build
matmul_naive      2   1   1   1280   1280 128  bf16  full    build
matmul_naive      1   1   1   1792   1792  64  fp16  full    build
matmul_naive      2   7   7    380    760 128  fp16  full    judge
matmul_naive      3   2   2   1396   1396  64  fp16  full    judge
matmul_naive      4  13  13    192    576 128  fp16  full    judge
matmul_naive      5   3   3    374    374 128  bf16  full    judge
matmul_tiled      1   4   4    256    256  64  fp16  full    build
matmul_tiled      1   8   8   1024   1024  64  fp16  full    build
matmul_tiled      2   2   2   1009   1009 128  bf16  full    build
matmul_tiled      1  16  16   4096   4096  64  fp16  full    build
matmul_tiled      4  16  16   2048   2048 128  fp16  full    build
matmul_tiled      1   1   1  32768  32768  64  fp16  full    build
matmul_tiled      1   2   2   2880   5760  64  bf16  full    build
matmul_tiled      1   5   5    891    891 128  bf16  full    build
matmul_tiled      1  16  16    323    128  64  bf16  full    build
matmul_tiled      1  20  20   4085   4085  64  fp16  full    build
matmul_tiled      2   7   7    256    256 128  bf16  full    build
matmul_tiled      2   3   3    448    448 128  bf16  full    build
matmul_tiled      1   2   2   3662   1831  64  bf16  full    build
matmul_tiled      4  25  25    662    662 128  bf16  full    build
matmul_tiled      4  16  16    960    960  64  fp16  full    build
matmul_tiled      5   3   3   3208   3208  64  fp16  full    build
matmul_tiled      1  25  25    448    448 128  fp16  full    build
matmul_tiled      1   3   3    320    320  64  fp16  full    build
matmul_tiled      2  13  13    448    448  64  bf16  full    build
matmul_tiled      5   7   7    256    256 128  bf16  full    build
matmul_tiled      1   1   1    192    192 128  fp16  full    build
matmul_tiled      4  15  15    889    889  64  fp16  full    build
matmul_tiled      3  41  41   1152   2304  64  fp16  full    build
matmul_tiled      2   1   1   4800   9600 128  fp16  full    build
matmul_tiled      1  17  17   5144   5144  64  fp16  full    build
matmul_tiled      5   5   5    427    427  64  fp16  full    build
matmul_tiled      3   8   8   3388   3388  64  fp16  full    build
matmul_tiled      4   4   4    750   2250 128  fp16  full    build
matmul_tiled      4   3   3    448    896 128  bf16  full    build
matmul_tiled      3   5   5   5435   2718  64  bf16  full    build
matmul_tiled      3   3   3    320    320  64  bf16  full    judge
matmul_tiled      5  29  29    639    639 128  bf16  full    judge
matmul_tiled      2   1   1    448    224 128  fp16  full    judge
matmul_tiled      3  16  16   1088    544 128  fp16  full    judge
# backward; "judge" by `draw_shapes.py 20261130 backward`
standard_backward               1   1   1    128    128  64  fp16  full    build
standard_backward               1   8   8   1024   1024  64  fp16  full    build
standard_backward               2   8   8   1024   1024 128  fp16  causal  build
standard_backward               1   4   4   1000   1000  64  fp16  causal  build
standard_backward               1   3   3   1001   1001 128  bf16  full    build
standard_backward               1  16  16   4096   4096  64  fp16  full    build
standard_backward               4  16   4   2048   2048 128  bf16  causal  build
standard_backward               1   8   2   1500   3000  64  fp16  causal  build
standard_backward               1   2   2  16384  16384 128  fp16  full    build
standard_backward               1   1   1   2048  45056  64  fp16  full    build
standard_backward               1  29  29    863    863 128  fp16  full    build
standard_backward               1   4   1    192    384 128  bf16  causal  build
standard_backward               3   1   1   1088   3264 128  fp16  causal  build
standard_backward               1  32  16   1088   1088  64  bf16  causal  build
standard_backward               2   2   2   1087   1087  64  fp16  causal  build
standard_backward               4   4   1   7048   7048  64  fp16  full    build
standard_backward               6   1   1   1920   1920 128  fp16  full    judge
standard_backward               2   8   2    284    284 128  fp16  full    judge
standard_backward               1   4   2   1899   1899  64  fp16  full    judge
standard_backward               2   8   8   9670   9670 128  fp16  full    judge
standard_backward               2   2   2    816    816  64  bf16  full    judge
standard_backward               4   5   5    195    195 128  fp16  causal  judge
flash1_backward                 1   1   1    128    128  64  fp16  full    build
flash1_backward                 1   8   8    512    512  64  fp16  full    build
flash1_backward                 1  32  32   1024   1024  64  fp16  causal  build
flash1_backward                 4  32  32    512    512 128  bf16  full    build
flash1_backward                 1   4   4   1000   1000  64  fp16  causal  build
flash1_backward                 1  16   4    777    777 128  fp16  full    build
flash1_backward                 1 132 132   1024   1024  64  fp16  full    build
flash1_backward                 2  12  12    640   1280 128  bf16  causal  build
flash1_backward                 1   8   8   2048   2048 128  fp16  full    build
flash1_backward                 1  24   2    300   2400  64  bf16  full    build
flash1_backward                 2   6   6   1856   1856 128  fp16  full    build
flash1_backward                 1  26  13   2624   2624  64  fp16  causal  build
flash1_backward                 2   4   1   1906   1906  64  fp16  causal  build
flash1_backward                 2  14   7   1536   1536 128  fp16  full    build
flash1_backward                 3  12   6    281    281  64  bf16  causal  build
flash1_backward                 4   3   3    192    192 128  fp16  full    build
flash1_backward                 5   2   2   2581   5162  64  fp16  full    judge
flash1_backward                 1   3   3    512    512 128  bf16  causal  judge
flash1_backward                 2   4   1    640    640  64  bf16  full    judge
flash1_backward                 2  32  32   1218   1218 128  bf16  full    judge
flash1_backward                 5   2   2    745   1490 128  bf16  causal  judge
flash1_backward                 2  10  10    451    451  64  fp16  causal  judge
flash2_backward                 1   1   1    128    128  64  fp16  full    build
flash2_backward                 1   8   8   1024   1024  64  fp16  full    build
flash2_backward                 2   8   8   1024   1024 128  fp16  causal  build
flash2_backward                 1   4   4   1000   1000  64  fp16  causal  build
flash2_backward                 1   3   3   1001   1001 128  bf16  full    build
flash2_backward                 8  16  16    512    512 128  fp16  full    build
flash2_backward                 1  16  16   4096   4096 128  fp16  full    build
flash2_backward                 1  16  16   4096   4096  64  fp16  causal  build
flash2_backward                 1  32  32   4096   4096 128  bf16  full    build
flash2_backward                 1  32   8   4096   4096 128  fp16  causal  build
flash2_backward                 1  16   2   1500   6000  64  bf16  causal  build
flash2_backward                 1   8   8   8192   8192 128  fp16  causal  build
flash2_backward                 1   4   4  16384  16384 128  fp16  full    build
flash2_backward                 1   2   2  32768  32768  64  fp16  full    build
flash2_backward                 1  64  64    128   4096  64  bf16  full    build
flash2_backward                 2   4   2    256    256 128  fp16  full    build
flash2_backward                 5  39  39    448    448  64  fp16  causal  build
flash2_backward                 4   2   2    558    558  64  bf16  full    build
flash2_backward                 2   2   1  10432  10432 128  bf16  causal  build
flash2_backward                 6  36  18   3368   3368 128  bf16  causal  build
flash2_backward                 1  10   5    253    759 128  fp16  full    build
flash2_backward                 2   2   2   3734   3734  64  bf16  full    build
flash2_backward                 2   1   1    384    384 128  bf16  causal  build
flash2_backward                 2  10   5  15040  15040  64  fp16  full    build
flash2_backward                 2   6   6    448    112  64  fp16  full    judge
flash2_backward                 3  14   7   2368   2368 128  bf16  causal  judge
flash2_backward                 4   4   2   2114   2114 128  fp16  full    judge
flash2_backward                 2   1   1   2359   2359  64  fp16  causal  judge
flash2_backward                 1  24   6    234    702 128  bf16  full    judge
flash2_backward                 3   7   7   2429   2429  64  fp16  causal  judge
flash2_backward                 4  12  12  14656  14656 128  fp16  causal  judge
flash2_backward                 2   4   1    192    192  64  fp16  causal  judge
flash2_backward                 2  16  16    192    192  64  bf16  causal  judge
flash2_backward_two_pass        1   1   1    128    128  64  fp16  full    build
flash2_backward_two_pass        1   8   8   1024   1024  64  fp16  full    build
flash2_backward_two_pass        2   8   8   1024   1024 128  fp16  causal  build
flash2_backward_two_pass        1   4   4   1000   1000  64  fp16  causal  build
flash2_backward_two_pass        1  16  16   4096   4096 128  fp16  full    build
flash2_backward_two_pass        1  16  16   4096   4096  64  bf16  causal  build
flash2_backward_two_pass        1  32   8   2048   2048 128  fp16  full    build
flash2_backward_two_pass        1  16   2   1500   3000  64  bf16  causal  build
flash2_backward_two_pass        3  16   8    408    408  64  fp16  causal  build
flash2_backward_two_pass        1   3   3    610    610 128  bf16  causal  build
flash2_backward_two_pass        1   6   6   1666   1666 128  bf16  full    build
flash2_backward_two_pass        2  16   4   4740   4740  64  bf16  causal  build
flash2_backward_two_pass        3   6   6   3456   3456  64  fp16  full    build
flash2_backward_two_pass        3  10   5   2304   4608  64  bf16  full    build
flash2_backward_two_pass        2   2   2   9972  19944 128  bf16  causal  judge
flash2_backward_two_pass        4   9   9   1984   1984  64  fp16  causal  judge
flash2_backward_two_pass        1   1   1   1244   1244 128  fp16  causal  judge
flash2_backward_two_pass        1  10   5    767    767  64  bf16  causal  judge
flash2_backward_two_pass        4  12   3   9728  19456  64  bf16  full    judge
flash2_backward_two_pass        1   4   1  14583  14583  64  bf16  full    judge
flash2_backward_deterministic   1   1   1    128    128  64  fp16  full    build
flash2_backward_deterministic   1   8   8   1024   1024  64  fp16  full    build
flash2_backward_deterministic   2   8   8   1024   1024 128  fp16  causal  build
flash2_backward_deterministic   1   4   4   1000   1000  64  fp16  causal  build
flash2_backward_deterministic   1  16  16   4096   4096 128  fp16  full    build
flash2_backward_deterministic   1  16  16   4096   4096  64  bf16  causal  build
flash2_backward_deterministic   1  32   8   2048   2048 128  fp16  full    build
flash2_backward_deterministic   1  16   2   1500   3000  64  bf16  causal  build
flash2_backward_deterministic   2   4   1   7084   7084  64  bf16  full    build
flash2_backward_deterministic   5   4   4   1270   1270  64  bf16  causal  build
flash2_backward_deterministic   2  42  21   8022   8022  64  bf16  full    build
flash2_backward_deterministic   3  22  22   2432   7296 128  bf16  causal  build
flash2_backward_deterministic   3   4   2  10777   5388 128  bf16  full    build
flash2_backward_deterministic   5  16   4    733    733  64  fp16  causal  build
flash2_backward_deterministic   6  19  19    713    713  64  bf16  causal  judge
flash2_backward_deterministic   3   4   4    768    768  64  fp16  full    judge
flash2_backward_deterministic   6  24  24   1395   1395  64  bf16  full    judge
flash2_backward_deterministic   1  33  33   9856   9856 128  fp16  causal  judge
flash2_backward_deterministic   2   5   5  12800  12800 128  bf16  causal  judge
flash2_backward_deterministic   2   4   1    607    607 128  fp16  full    judge
flex_backward                   1   1   1    128    128  64  fp16  full    build
flex_backward                   1   8   8   1024   1024  64  fp16  full    build
flex_backward                   2   8   8   1024   1024 128  fp16  causal  build
flex_backward                   1   4   4   1000   1000  64  fp16  causal  build
flex_backward                   1  16  16   4096   4096 128  fp16  full    build
flex_backward                   1  16  16   4096   4096  64  bf16  causal  build
flex_backward                   1  32   8   2048   2048 128  fp16  full    build
flex_backward                   1  16   2   1500   3000  64  bf16  causal  build
flex_backward                   6   1   1   2496   2496 128  fp16  full    judge
flex_backward                   2   8   2    297    297 128  fp16  full    judge
flex_backward                   1   4   2   2494   2494  64  fp16  full    judge
flex_backward                   2  40  20  13760  13760 128  fp16  causal  judge
flex_backward                   3  26  26   3039   3039 128  fp16  full    judge
flex_backward                   2   2   2    969    969  64  bf16  full    judge
)";

/// Reads "full", "causal", or presets joined by '+'.
Status take_mask(const std::string& word, SuiteCase& one) {
  std::istringstream parts(word);
  std::string part;
  while (std::getline(parts, part, '+')) {
    if (part == "causal")
      one.problem.causal = true;
    else if (part != "full")
      one.presets.push_back(part);
  }
  if (word.empty() || word.back() == '+' || part.empty())
    return refuse("'{}' is no mask: full, causal, or presets joined by '+'", printable(word));
  for (const std::string& preset : one.presets)
    if (const auto text = preset_text(preset); !text) return refuse("'{}' is no mask: {}", printable(word), text.error().sentence);
  return Done{};
}

std::string mask_word(const SuiteCase& one) {
  std::string word = one.problem.causal ? "causal" : "";
  for (const std::string& preset : one.presets) word += (word.empty() ? "" : "+") + preset;
  return word.empty() ? "full" : word;
}

/// Reads "pages=64" or "pages=64,contiguous".
Status take_pages(const std::string& word, AttentionProblem& p) {
  constexpr std::string_view start = "pages=";
  if (!word.starts_with(start)) return refuse("'{}' is one word too many: only pages follow, as in pages=128", printable(word));
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto [end, error] = std::from_chars(word.data() + start.size(), word.data() + word.size(), p.page_size);
  const std::string_view rest(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (error != std::errc() || p.page_size < 1 || p.page_size > most || !(rest.empty() || rest.front() == ','))
    return refuse("'{}' is no page size: a whole number of keys from 1 to {}, as in pages=128", printable(word), most);
  if (rest.empty()) return Done{};
  const std::optional<PageOrder> order = page_order_from(rest.substr(1));
  if (!order) return refuse("'{}' has no order of pages: shuffled or contiguous, as in pages=128,contiguous", printable(word));
  p.page_order = *order;
  return Done{};
}

std::string pages_word(const AttentionProblem& p) {
  if (p.page_size == 0) return "";
  return fmt::format(" pages={}{}", p.page_size, p.page_order == PageOrder::shuffled ? "" : ",contiguous");
}

/// Errors  a line that ends before its case does
Status check_words(const std::string& line) {
  constexpr std::string_view names[] = {"kernel", "batch",    "heads", "kv_heads", "seq_q",
                                        "seq_kv", "head_dim", "type",  "mask",     "list"};
  std::istringstream words(line);
  std::string word, shown;
  std::size_t count = 0;
  while (words >> word) ++count, shown += (shown.empty() ? "" : " ") + word;
  if (count >= std::size(names)) return Done{};
  return refuse("'{}' ends before its {}: a case has {} words, as in 'flash2 1 8 8 1024 1024 64 fp16 causal build'",
                printable(shown, 100), std::string(names[count]), std::size(names));
}

Result<SuiteCase> case_from_line(const std::string& line) {
  if (const Status whole = check_words(line); !whole) return whole.error();
  std::istringstream words(line);
  SuiteCase one;
  AttentionProblem& p = one.problem;
  std::string type, mask, rest;
  words >> one.kernel;
  for (std::int64_t* size : {&p.batch, &p.heads, &p.kv_heads, &p.seq_q, &p.seq_kv, &p.head_dim}) {
    std::string word;
    words >> word;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *size);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return refuse("'{}' is no size", printable(word));
  }
  words >> type >> mask >> one.list;
  const std::optional<DataType> dtype = data_type_from(type);
  if (!dtype) return refuse("'{}' is no type: fp16 or bf16", printable(type));
  p.dtype = *dtype;
  if (const Status known = take_mask(mask, one); !known) return known.error();
  if (one.list != "build" && one.list != "judge") return refuse("'{}' is no list: build or judge", printable(one.list));
  if (words >> rest)
    if (const Status taken = take_pages(rest, p); !taken) return taken.error();
  if (words >> rest) return refuse("'{}' is one word too many", printable(rest));
  const Result<const KernelInfo*> kernel = find_kernel(one.kernel);
  if (!kernel) return kernel.error();
  p.pass = (*kernel)->pass;
  if (Status fits = supports(**kernel, p); !fits) return fits.error();
  if (one.presets.empty()) return one;
  if (!(*kernel)->takes_masks) return refuse("{} takes no preset: give 'full' or 'causal', or the kernel flex", one.kernel);
  MaskChoice choice;
  choice.presets = one.presets;
  if (const auto fault = find_mask_fault(choice, p)) return error_of(*fault);
  return one;
}

}  // namespace

Result<std::vector<SuiteCase>> suite_from_text(std::string_view text, std::string_view origin) {
  std::vector<SuiteCase> suite;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<SuiteCase> one = case_from_line(line);
    if (!one) {
      const Sentence& why = one.error().sentence;
      return Error{origin.empty() ? phrase("line {} of the suite: {}", number, why)
                                  : phrase("{}, line {}: {}", printable(origin, 200), number, why),
                   one.error().kind};
    }
    suite.push_back(*one);
  }
  if (suite.empty())
    return refuse("the suite has no case: give lines like 'flash2 1 8 8 1024 1024 64 fp16 causal build', or {} default",
                  Setting::suite);
  return suite;
}

const std::vector<SuiteCase>& default_suite() {
  static const std::vector<SuiteCase> suite = *suite_from_text(table);
  return suite;
}

std::vector<SuiteCase> default_suite(Pass pass) {
  std::vector<SuiteCase> cases = default_suite();
  std::erase_if(cases, [&](const SuiteCase& one) { return one.problem.pass != pass; });
  return cases;
}

std::string to_text(const SuiteCase& one) {
  const AttentionProblem& p = one.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}{}", one.kernel, p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim,
                     to_string(p.dtype), mask_word(one), one.list, pages_word(p));
}

}  // namespace tilescope
